"""The workload is the one that other engines are measured with, and its floor is counted right."""

from __future__ import annotations

import random

import pytest

from minisgl_tutor.bench.offline import Run, Workload, draw_workload, floor_seconds
from minisgl_tutor.models.config import ModelConfig, Rope


def shape(hidden: int, mlp: int, layers: int, heads: int) -> ModelConfig:
    rope = Rope(1e6)
    return ModelConfig(
        "x", 151_936, hidden, mlp, layers, heads, 8, 128, 1e-6, rope, 40_960, True, False, True
    )


def test_the_lengths_are_those_of_the_field() -> None:
    workload = draw_workload(256, 1024, 1024)
    assert sum(workload.inputs) == 142_827
    assert sum(workload.outputs) == 133_966
    assert min(workload.inputs + workload.outputs) >= 100
    assert max(workload.inputs + workload.outputs) <= 1024


def test_prompts_have_the_lengths_and_a_vocabulary() -> None:
    workload = draw_workload(5, 120, 120)
    tokens = random.Random(1)
    one, other = workload.prompts(tokens, 50), workload.prompts(tokens, 50)
    assert [len(prompt) for prompt in one] == workload.inputs
    assert max(map(max, one)) <= 49
    assert one != other


@pytest.mark.parametrize(
    ("config", "published"),
    [(shape(1024, 3072, 28, 16), 35_931), (shape(5120, 17_408, 40, 40), 8_013)],
)
def test_the_floor_is_near_the_published_one(config: ModelConfig, published: float) -> None:
    workload = draw_workload(256, 1024, 1024)
    floor = floor_seconds(config, workload, 16_384, bandwidth=4.27e12, flops=767e12)
    assert sum(workload.outputs) / floor == pytest.approx(published, rel=0.01)


def test_the_floor_of_one_sequence_by_hand() -> None:
    """One token in, three out: two decode steps, each of which reads all weights, and K and V so far."""
    config = ModelConfig("x", 10, 4, 8, 2, 2, 1, 2, 1e-6, Rope(1e4), 64, True, False, False)
    weights = 2 * (2 * (4 * (4 + 2 * 2) + 4 * 4 + 3 * 4 * 8) + 4 * 10)
    kv_token = 2 * 2 * 1 * 2 * 2
    moved = 2 * weights + (2 + 1 + 3 + 1) * kv_token + weights + 1 * kv_token
    floor = floor_seconds(config, Workload([1], [3]), budget=100, bandwidth=1.0, flops=1e12)
    assert floor == pytest.approx(moved)
    halved = floor_seconds(config, Workload([1], [3]), 100, bandwidth=1.0, flops=1e12, kv_number=1)
    assert halved == pytest.approx(3 * weights + (moved - 3 * weights) / 2)


def test_speed_is_tokens_by_time() -> None:
    assert Run(2.0, 100).tok_s == 50
