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


def test_logprobs_come_with_every_token_of_those_who_ask(llm: LLM) -> None:
    params = [SamplingParams(max_tokens=6, ignore_eos=True, logprobs=count) for count in (None, 0, 3)]
    answers = llm.generate([[1], [2], [3]], params)
    for answer, own in zip(answers, params, strict=True):
        chosen = [entry.chosen.token for entry in answer.logprobs]
        assert chosen == ([] if own.logprobs is None else answer.token_ids)
        assert {len(entry.top) for entry in answer.logprobs} <= {own.logprobs}


def test_penalties_reach_the_engine(llm: LLM) -> None:
    params = SamplingParams(max_tokens=9, ignore_eos=True, presence_penalty=0.5, frequency_penalty=1.0)
    (answer,) = llm.generate([[4, 5]], params)
    assert answer.token_ids == HashingEngine(INFO).expected_tokens([4, 5], 9, penalties=(0.5, 1.0))


def test_a_stop_string_ends_an_answer_and_is_no_part_of_its_text(llm: LLM) -> None:
    """Whole answers run beside it, one of which has a stop string that never comes."""
    whole = [right([i], 20, ignore_eos=True) for i in range(3)]
    words_of = [" ".join(f"w{token}" for token in tokens) for tokens in whole]
    stop = f" w{whole[0][4]}"  # as a text it may come earlier, within a longer word
    params = [
        SamplingParams(max_tokens=20, ignore_eos=True, stop=(stop, "never")),
        SamplingParams(max_tokens=20, ignore_eos=True, stop=("never",)),
        SamplingParams(max_tokens=20, ignore_eos=True),
    ]
    stopped, *others = llm.generate([[0], [1], [2]], params)
    assert stopped.text == words_of[0][: words_of[0].index(stop)]
    assert stopped.finish_reason == "stop"
    assert stopped.token_ids == whole[0][: len(stopped.token_ids)]
    assert " ".join(f"w{token}" for token in stopped.token_ids).startswith(stopped.text + stop)
    assert stopped.usage.completion_tokens == len(stopped.token_ids) < 20
    assert [answer.text for answer in others] == words_of[1:]
    assert [answer.finish_reason for answer in others] == ["length", "length"]
    assert llm.offline.scheduler.held() == {}
    assert llm._texts.held() == {}


def test_a_stop_string_in_the_last_token(llm: LLM) -> None:
    tokens = right([9], 3, ignore_eos=True)
    params = SamplingParams(max_tokens=3, ignore_eos=True, stop=(f"w{tokens[2]}",))
    (answer,) = llm.generate([[9]], params)
    assert (answer.token_ids, answer.finish_reason) == (tokens, "stop")
    assert answer.text == f"w{tokens[0]} w{tokens[1]} "


def test_no_prompts_no_answers(llm: LLM) -> None:
    assert llm.generate([]) == []


@pytest.mark.parametrize("stop", [(), ("w1 w2 w3 w4",)])
def test_a_call_that_was_broken_off_does_not_reach_into_the_next_one(llm: LLM, stop: tuple[str, ...]) -> None:
    params = SamplingParams(max_tokens=20, ignore_eos=True, stop=stop)

    def break_off(new: int) -> None:
        if new:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        llm.generate([[1, 2], [3, 4], [5, 6]], params, break_off)
    prompts = [[9, 9], [8, 8], [7, 7]]
    answers = llm.generate(prompts, params)
    assert [answer.token_ids for answer in answers] == [right(prompt, 20, True) for prompt in prompts]
    assert not llm.offline.scheduler.held() and not llm._texts.held()
    llm.offline.scheduler.check_integrity()
