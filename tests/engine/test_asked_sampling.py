"""Penalties, biases, min-p and logprobs from the scheduler to a model and back, held against a plain loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers.models import WordLevel

from minisgl_tutor.llm import LLM, Generation
from minisgl_tutor.message import SamplingParams
from minisgl_tutor.server.config import SchedulerConfig, ServerArgs
from minisgl_tutor.tokenizer.tokenizer import Tokenizer

torch = pytest.importorskip("torch")

Build = Callable[..., Any]
PeerOf = Callable[[str], Any]

PROMPTS = [[int(t) for t in np.random.default_rng(seed).integers(0, 96, 5 + 3 * seed)] for seed in range(8)]
BIASES = {int(token): 20.0 for token in range(0, 96, 24)} | {5: -100.0}
GREEDY = [
    SamplingParams(presence_penalty=2.0, logprobs=3),
    SamplingParams(frequency_penalty=1.5, logprobs=0),
    SamplingParams(presence_penalty=-2.0, frequency_penalty=-2.0, logprobs=1),
    SamplingParams(logit_bias=BIASES, logprobs=5),
    SamplingParams(logit_bias=BIASES, presence_penalty=0.5, frequency_penalty=2.0),
    SamplingParams(logprobs=20),
    SamplingParams(),
    SamplingParams(frequency_penalty=2.0, min_p=0.5, logprobs=2),
]
SAMPLED = [
    SamplingParams(temperature=1.0 + row % 3, min_p=0.02 * (row % 2), frequency_penalty=row / 4, seed=row)
    for row in range(8)
]


def generate(
    hand: Any, prompts: list[list[int]], params: list[SamplingParams], length: int, **config: Any
) -> list[Generation]:
    words = Tokenizer(LibraryTokenizer(WordLevel({f"w{i}": i for i in range(96)}, unk_token="w0")))
    args = ServerArgs(scheduler=SchedulerConfig(**{"head_room": 1, **config}))
    llm = LLM.of_engine(hand.engine, words, frozenset(), args)
    return llm.generate(prompts, [replace(own, max_tokens=length, ignore_eos=True) for own in params])


def changed(scores: np.ndarray, generated: list[int], params: SamplingParams) -> np.ndarray:
    """OpenAI's formula."""
    scores = scores.copy()
    for token in range(len(scores)):
        count = generated.count(token)
        scores[token] += params.logit_bias.get(token, 0)
        scores[token] -= count * params.frequency_penalty + (count > 0) * params.presence_penalty
    return scores


@pytest.mark.parametrize("overlap", [False, True], ids=["normal", "overlap"])
def test_greedy_answers_and_their_logprobs(build: Build, peer: PeerOf, overlap: bool) -> None:
    answers = generate(build("qwen3"), PROMPTS, GREEDY, 14, overlap=overlap)
    for prompt, params, answer in zip(PROMPTS, GREEDY, answers, strict=True):
        raw = peer("qwen3").logits(prompt + answer.token_ids).double().numpy()[len(prompt) - 1 : -1]
        logprobs = raw - np.log(np.exp(raw).sum(axis=1, keepdims=True))
        for index, token in enumerate(answer.token_ids):
            assert token == changed(raw[index], answer.token_ids[:index], params).argmax(), params
        assert len(answer.logprobs) == (0 if params.logprobs is None else 14)
        for own, token, right in zip(answer.logprobs, answer.token_ids, logprobs, strict=False):
            assert own.chosen.token == token
            assert own.chosen.logprob == pytest.approx(right[token], abs=1e-4)
            likeliest = np.argsort(-right)[: params.logprobs].tolist()
            assert [scored.token for scored in own.top] == likeliest
            assert [scored.logprob for scored in own.top] == pytest.approx(right[likeliest], abs=1e-4)
    # The wishes do change something.
    plain = generate(build("qwen3"), PROMPTS, [SamplingParams()] * 8, 14)
    same = [one.token_ids == other.token_ids for one, other in zip(answers, plain, strict=True)]
    assert same == [False, False, same[2], False, False, True, True, False]


def test_seeded_answers_do_not_depend_on_batches_chunks_or_retraction(build: Build) -> None:
    alone = [generate(build("llama-tied"), [PROMPTS[row]], [SAMPLED[row]], 60)[0] for row in (0, 3, 7)]
    hand = build("llama-tied", page_size=1)
    retracted = 0

    def count(batch: Any) -> Any:
        nonlocal retracted
        penalties = batch.sampling.penalties
        retracted += penalties is not None and len(penalties.known_tokens) > 0
        return forward_batch(batch)

    forward_batch, hand.engine.forward_batch = hand.engine.forward_batch, count
    crowd = generate(hand, PROMPTS, SAMPLED, 60, prefill_budget=7, cache="naive")
    assert retracted > 0
    assert [crowd[row].token_ids for row in (0, 3, 7)] == [answer.token_ids for answer in alone]
