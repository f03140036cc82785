"""Offline generation, over an engine whose right output is known."""

from __future__ import annotations

import pytest
from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from minisgl_tutor.engine.base import EngineInfo
from minisgl_tutor.engine.hashing import HashingEngine
from minisgl_tutor.llm import LLM, RequestRefused
from minisgl_tutor.message import SamplingParams, Usage
from minisgl_tutor.server.config import SchedulerConfig, ServerArgs
from minisgl_tutor.tokenizer.tokenizer import Tokenizer

VOCAB = 40
EOS = 7
INFO = EngineInfo(page_size=2, num_pages=200, num_slots=4, max_seq_len=60, vocab_size=VOCAB)


def words() -> Tokenizer:
    library = LibraryTokenizer(WordLevel({f"w{i}": i for i in range(VOCAB)}, unk_token="w0"))
    library.pre_tokenizer = Whitespace()
    return Tokenizer(library)


@pytest.fixture(params=[True, False], ids=["overlap", "no overlap"])
def llm(request: pytest.FixtureRequest) -> LLM:
    args = ServerArgs(scheduler=SchedulerConfig(prefill_budget=8, overlap=request.param))
    return LLM.of_engine(HashingEngine(INFO), words(), frozenset({EOS}), args)


def right(prompt: list[int], count: int, ignore_eos: bool = False) -> list[int]:
    return HashingEngine(INFO).expected_tokens(prompt, count, {EOS}, ignore_eos)


def test_each_prompt_has_its_answer_in_order(llm: LLM) -> None:
    prompts = [[i, i + 1, 3, 1] * (1 + i % 4) for i in range(12)]
    answers = llm.generate(prompts, SamplingParams(max_tokens=20, ignore_eos=True))
    for prompt, answer in zip(prompts, answers, strict=True):
        assert answer.token_ids == right(prompt, 20, ignore_eos=True)
        assert answer.text == " ".join(f"w{token}" for token in answer.token_ids)
        assert answer.finish_reason == "length"
        assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (len(prompt), 20)
    llm.offline.scheduler.check_integrity()


def test_an_end_of_sequence_is_no_text(llm: LLM) -> None:
    prompts = [[i] for i in range(30)]
    answers = llm.generate(prompts, SamplingParams(max_tokens=50))
    assert [answer.token_ids for answer in answers] == [right(prompt, 50) for prompt in prompts]
    stopped = [answer for answer in answers if answer.finish_reason == "stop"]
    assert stopped
    for answer in stopped:
        assert answer.token_ids[-1] == EOS
        assert answer.text == " ".join(f"w{token}" for token in answer.token_ids[:-1])


def test_a_text_is_a_prompt_too(llm: LLM) -> None:
    (answer,) = llm.generate(["w3 w5 w5"], SamplingParams(max_tokens=4, ignore_eos=True))
    assert answer.token_ids == right([3, 5, 5], 4, ignore_eos=True)


def test_parameters_for_each_and_a_second_call(llm: LLM) -> None:
    for _ in range(2):
        params = [SamplingParams(max_tokens=count, ignore_eos=True) for count in (1, 5)]
        answers = llm.generate([[1], [2]], params)
        assert [len(answer.token_ids) for answer in answers] == [1, 5]


def test_as_many_parameters_as_prompts(llm: LLM) -> None:
    with pytest.raises(ValueError, match="2 prompts but 1 sampling parameters"):
        llm.generate([[1], [2]], [SamplingParams()])


def test_progress_counts_every_token(llm: LLM) -> None:
    seen: list[int] = []
    llm.generate([[1], [2, 3]], SamplingParams(max_tokens=9, ignore_eos=True), seen.append)
    assert sum(seen) == 18


def test_a_refused_prompt_is_named_and_nothing_is_left(llm: LLM) -> None:
    with pytest.raises(RequestRefused, match=r"Prompt 1: .*vocabulary"):
        llm.generate([[1], [VOCAB]], SamplingParams(max_tokens=3))
    assert llm.offline.scheduler.held() == {}
    (answer,) = llm.generate([[1]], SamplingParams(max_tokens=3, ignore_eos=True))
    assert answer.usage != Usage()


def test_no_prompts_no_answers(llm: LLM) -> None:
    assert llm.generate([]) == []
