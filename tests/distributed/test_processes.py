"""Ranks as processes that talk over gloo, started by ``LLM``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psutil
import pytest

torch = pytest.importorskip("torch")

from minisgl_tutor.engine.base import EngineError  # noqa: E402
from minisgl_tutor.llm import LLM, RequestRefused  # noqa: E402
from minisgl_tutor.message import SamplingParams  # noqa: E402
from minisgl_tutor.models.errors import ModelError  # noqa: E402
from minisgl_tutor.server.config import SchedulerConfig  # noqa: E402

PROMPTS = ["What is a KV cache?", "Hello", "What does the scheduler do?", "什么是分词器？"] * 2
GREEDY = SamplingParams(max_tokens=20, ignore_eos=True)
SEEDED = SamplingParams(max_tokens=10, ignore_eos=True, temperature=0.8, top_p=0.9, seed=3)


def load(tp: int, **options: Any) -> LLM:
    """A small pool, so that requests are retracted, and short chunks."""
    scheduler = SchedulerConfig(prefill_budget=7)
    sizes = {"page_size": 4, "num_pages": 40, "max_seq_len": 100, "dtype": "float32", "threads": 1}
    return LLM(tp=tp, scheduler=scheduler, log_level="error", **(sizes | options))


@pytest.fixture(scope="module")
def divided() -> Iterator[LLM]:
    llm = load(2)
    yield llm
    llm.close()


def test_two_processes_give_the_text_of_one(divided: LLM) -> None:
    alone = load(1)
    for params in (GREEDY, SEEDED, GREEDY):
        expected, found = (llm.generate(PROMPTS, params) for llm in (alone, divided))
        assert [answer.token_ids for answer in found] == [answer.token_ids for answer in expected]
        assert [answer.text for answer in found] == [answer.text for answer in expected]
    assert divided.info == alone.info


def test_a_draw_without_a_seed_is_the_same_for_all_ranks(divided: LLM) -> None:
    """Else the ranks would not have the same prefixes in their caches, nor the same K and V there."""
    params = SamplingParams(max_tokens=20, ignore_eos=True, temperature=1)
    (drawn,) = divided.generate([[5, 6, 7]], params)
    prompt = [5, 6, 7, *drawn.token_ids]
    (found,), (expected,) = (llm.generate([prompt], GREEDY) for llm in (divided, load(1)))
    assert found.token_ids == expected.token_ids
    assert found.usage.cached_tokens > 16


def test_a_refused_prompt_is_named_and_what_follows_is_served(divided: LLM) -> None:
    with pytest.raises(RequestRefused, match="Prompt 1"):
        divided.generate([[5], [10**6]], GREEDY)
    (answer,) = divided.generate(["Hello"], GREEDY)
    assert len(answer.token_ids) == 20


def test_the_death_of_a_rank_ends_the_model_and_is_told(divided: LLM) -> None:
    ranks = psutil.Process().children()
    (second,) = [child for child in ranks if child.cmdline()[:1] == ["minisgl-TP1-scheduler"]]
    second.kill()
    with pytest.raises(EngineError, match=r"minisgl-TP[01]-scheduler"):
        divided.generate(PROMPTS, GREEDY)
    assert not any(child.is_running() and child.cmdline()[:1] == ["minisgl-TP0-scheduler"] for child in ranks)


def test_ranks_that_do_not_divide_the_heads_are_one_sentence() -> None:
    with pytest.raises(ModelError, match="--tp 3 does not divide the model's 4 attention heads"):
        load(3)


def test_more_ranks_than_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    from minisgl_tutor.distributed.group import TorchGroup
    from minisgl_tutor.distributed.seat import local_seats

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    seat = local_seats(2, "/nowhere")[1]
    with pytest.raises(ModelError, match="--tp 2 needs 2 GPUs on this machine, which has 1"):
        TorchGroup.join(seat, torch.device("cuda"))
