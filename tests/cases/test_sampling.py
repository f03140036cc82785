"""Reported faults of sampling, with the model that ships (D9, D11 and E10 of ``docs/cases.md``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from minisgl_tutor.llm import LLM
from minisgl_tutor.message import SamplingParams

pytest.importorskip("torch")

QUESTION = "What is a KV cache?"
GREEDY = SamplingParams(max_tokens=12, ignore_eos=True)


def sampled(**values: Any) -> SamplingParams:
    return SamplingParams(**{"max_tokens": 12, "ignore_eos": True, "temperature": 1.0, "seed": 7, **values})


@pytest.fixture(scope="module")
def model() -> Iterator[LLM]:
    llm = LLM(dtype="float32", threads=1, num_pages=64, max_running_req=8)
    yield llm
    llm.close()


def tokens(model: LLM, *params: SamplingParams) -> list[list[int]]:
    answers = model.generate([QUESTION] * len(params), list(params))
    return [answer.token_ids for answer in answers]


def test_case_d9_top_k_of_1_is_greedy_and_a_huge_one_is_off(model: LLM) -> None:
    greedy, one, off, zero, minus, huge = tokens(
        model, GREEDY, *(sampled(top_k=top_k) for top_k in (1, -1, 0, -1, 9_999_999))
    )
    assert one == greedy
    assert off == zero == minus == huge != greedy


def test_case_d9_who_shares_a_batch_with_whom_changes_nothing(model: LLM) -> None:
    params = [GREEDY, sampled(top_k=5), sampled(top_k=50, top_p=0.5), sampled(top_p=0.9), sampled(min_p=0.3)]
    alone = [tokens(model, each)[0] for each in params]
    assert tokens(model, *params) == alone
    assert tokens(model, *reversed(params)) == alone[::-1]


def test_case_d11_choices_with_one_seed_differ_and_can_be_had_again(model: LLM) -> None:
    """Choice i is drawn with seed + i."""
    first, second = tokens(model, sampled(seed=7), sampled(seed=8))
    assert first != second
    assert tokens(model, sampled(seed=7), sampled(seed=8)) == [first, second]


def test_case_e10_in_float32_a_greedy_answer_does_not_depend_on_its_batch(model: LLM) -> None:
    (alone,) = tokens(model, GREEDY)
    prompts = [QUESTION, "Hello", "什么是分词器？ " * 5, "x " * 20, "Why?"]
    params = [GREEDY, sampled(max_tokens=3), sampled(max_tokens=20, seed=1), GREEDY, sampled(top_k=3)]
    assert model.generate(prompts, params)[0].token_ids == alone
