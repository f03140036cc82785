"""The torch engine gives transformers' scores and tokens, however the work is cut and batched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

Build = Callable[..., Any]
PeerOf = Callable[[str], Any]

FAMILIES = ["llama-tied", "llama3-rope", "qwen2", "qwen3", "mistral", "qwen3-moe"]
MORE_OF_THEM = ["llama", "qwen2-tied", "qwen3-untied", "mistral-window", "qwen3-moe-mixed"]
EVERYWHERE = pytest.mark.parametrize(("family", "page_size"), [(f, p) for f in FAMILIES for p in (1, 16)])
LENGTHS = [1, 7, 16, 17, 33]


def prompt(length: int, seed: int = 0) -> list[int]:
    return [int(token) for token in np.random.default_rng((seed, length)).integers(0, 96, length)]


def joined(prompts: list[list[int]]) -> list[int]:
    return [token for tokens in prompts for token in tokens]


def assert_close(found: Any, expected: Any) -> None:
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-4)


@EVERYWHERE
def test_ragged_prompts_in_one_step(build: Build, peer: PeerOf, family: str, page_size: int) -> None:
    hand = build(family, page_size)
    prompts = [prompt(length) for length in LENGTHS]
    batch = hand.batch("prefill", [(s, 0, len(p)) for s, p in enumerate(prompts)], joined(prompts))
    expected = torch.stack([peer(family).logits(p)[-1] for p in prompts])
    assert_close(hand.engine.logits(batch), expected)


@pytest.mark.parametrize("family", MORE_OF_THEM)
def test_tied_and_untied_windows_and_layers_without_experts(build: Build, peer: PeerOf, family: str) -> None:
    hand = build(family)
    text = prompt(40)
    expected = peer(family).logits(text)
    first = hand.batch("prefill", [(2, 0, 39)], text[:39])
    assert_close(hand.engine.logits(first), expected[38:39])
    second = hand.batch("prefill", [(2, 39, 40)], text[39:])
    assert_close(hand.engine.logits(second), expected[39:])


def test_nothing_is_longer_than_a_sliding_window(build: Build) -> None:
    assert build("mistral-window").engine.info.max_seq_len == 40


@EVERYWHERE
def test_prompt_in_chunks_beside_others(build: Build, peer: PeerOf, family: str, page_size: int) -> None:
    hand = build(family, page_size)
    long, other = prompt(40), prompt(9, seed=1)
    expected = peer(family).logits(long)
    hand.engine.logits(hand.batch("prefill", [(3, 0, 10)], long[:10], emits=[False]))
    second = hand.batch("prefill", [(3, 10, 26), (5, 0, 9)], long[10:26] + other)
    assert_close(hand.engine.logits(second), torch.stack([expected[25], peer(family).logits(other)[-1]]))
    # A chunk of one token is computed as in decode.
    third = hand.batch("prefill", [(3, 26, 27)], long[26:27])
    assert_close(hand.engine.logits(third), expected[26:27])
    last = hand.batch("prefill", [(3, 27, 40)], long[27:])
    assert_close(hand.engine.logits(last), expected[39:])


@EVERYWHERE
def test_prefix_hit(build: Build, peer: PeerOf, family: str, page_size: int) -> None:
    hand = build(family, page_size)
    first = prompt(36)
    second = first[:32] + prompt(5, seed=2)
    hand.engine.logits(hand.batch("prefill", [(0, 0, 36)], first))
    hand.share(source=0, target=1, pages=32 // page_size)
    hit = hand.batch("prefill", [(1, 32, 37)], second[32:])
    assert_close(hand.engine.logits(hit), peer(family).logits(second)[-1:])
    # The one whose pages are shared goes on undisturbed.
    resumed = [*first, 11]
    again = hand.batch("prefill", [(0, 36, 37)], [11])
    assert_close(hand.engine.logits(again), peer(family).logits(resumed)[-1:])


@EVERYWHERE
def test_greedy_tokens(build: Build, peer: PeerOf, family: str, page_size: int) -> None:
    """Rows join one after the other, and each step is launched before the last one is read."""
    hand = build(family, page_size)
    prompts = {4: prompt(5), 0: prompt(16), 2: prompt(33)}
    outputs: dict[int, list[Any]] = {slot: [] for slot in prompts}
    lens = {}
    for slot, tokens in prompts.items():
        step = hand.engine.forward_batch(hand.batch("prefill", [(slot, 0, len(tokens))], tokens))
        outputs[slot].append((step, 0))
        lens[slot] = len(tokens)
        for _ in range(4):
            rows = [(s, n, n + 1) for s, n in lens.items()]
            step = hand.engine.forward_batch(hand.batch("decode", rows))
            for row, (s, _, end) in enumerate(rows):
                outputs[s].append((step, row))
                lens[s] = end
    for slot, tokens in prompts.items():
        found = [step.next_tokens()[row] for step, row in outputs[slot]]
        assert found == peer(family).greedy(tokens, len(found))


def test_a_row_that_emits_nothing(build: Build, peer: PeerOf) -> None:
    hand = build("qwen3")
    first, second = prompt(20), prompt(6)
    batch = hand.batch("prefill", [(0, 0, 20), (1, 0, 6)], first + second, emits=[False, True])
    output = hand.engine.forward_batch(batch)
    assert output.next_tokens() == [-1, *peer("qwen3").greedy(second, 1)]
    assert output.next_tokens_gpu.tolist() == output.next_tokens_cpu.tolist() == output.next_tokens()[1:]
    assert hand.engine.token_pool[1, 6] == output.next_tokens()[1]
    assert hand.engine.token_pool[0, 20] == 0


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_step_in_which_nobody_emits(build: Build, dtype: str) -> None:
    hand = build("qwen3", dtype=dtype)
    output = hand.engine.forward_batch(hand.batch("prefill", [(0, 0, 20)], prompt(20), emits=[False]))
    assert output.next_tokens() == [-1]


def test_seeded_draws_do_not_depend_on_the_batch(build: Build) -> None:
    def generate(neighbours: int) -> list[int]:
        hand = build("qwen2")
        slots = range(neighbours + 1)
        prompts = [prompt(12), *(prompt(9 + n, seed=n) for n in range(neighbours))]
        values = {
            "temperatures": [0.8, 0.0, 2.0, 1.0][: neighbours + 1],
            "seeds": [2**64 - 1] + [5] * neighbours,
            "top_ps": [0.9] + [1.0] * neighbours,
        }
        rows = [(s, 0, len(p)) for s, p in zip(slots, prompts, strict=True)]
        steps = [hand.engine.forward_batch(hand.batch("prefill", rows, joined(prompts), **values))]
        for _ in range(12):
            rows = [(s, end, end + 1) for s, _, end in rows]
            steps.append(hand.engine.forward_batch(hand.batch("decode", rows, **values)))
        return [step.next_tokens()[0] for step in steps]

    alone = generate(0)
    assert len(set(alone)) > 3
    assert generate(3) == alone


def test_bfloat16_is_near(build: Build, peer: PeerOf) -> None:
    """Only rounding apart: the bound is 3 percent of the spread of the scores."""
    hand = build("qwen3", dtype="bfloat16")
    prompts = [prompt(length) for length in LENGTHS]
    batch = hand.batch("prefill", [(s, 0, len(p)) for s, p in enumerate(prompts)], joined(prompts))
    found = hand.engine.logits(batch)
    assert found.dtype == torch.bfloat16
    expected = torch.stack([peer("qwen3").logits(p)[-1] for p in prompts])
    assert (found.float() - expected).abs().mean() < 0.03 * expected.std()


@pytest.mark.parametrize("family", ["qwen3", "qwen3-moe"])
def test_float16_is_near(build: Build, peer: PeerOf, family: str) -> None:
    hand = build(family, dtype="float16")
    text = prompt(33)
    found = hand.engine.logits(hand.batch("prefill", [(0, 0, 33)], text))
    assert found.dtype == torch.float16
    expected = peer(family).logits(text)[-1]
    assert (found[0].float() - expected).abs().mean() < 0.01 * expected.std()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_an_8_bit_cache_is_near(build: Build, peer: PeerOf, dtype: str) -> None:
    """And a token sees the same of the others in whatever steps they come: from the cache, or with it."""
    prompts = [prompt(length) for length in LENGTHS]
    rows = [(s, 0, len(p)) for s, p in enumerate(prompts)]
    hand = build("qwen3", dtype=dtype, kv_cache_dtype="fp8")
    found = hand.engine.logits(hand.batch("prefill", rows, joined(prompts)))
    expected = torch.stack([peer("qwen3").logits(p)[-1] for p in prompts])
    error = (found.float() - expected).abs().mean() / expected.std()
    assert 0.001 < error < 0.1
    in_chunks = build("qwen3", dtype=dtype, kv_cache_dtype="fp8")
    text = prompts[-1]
    in_chunks.engine.logits(in_chunks.batch("prefill", [(7, 0, 20)], text[:20], emits=[False]))
    chunked = in_chunks.engine.logits(in_chunks.batch("prefill", [(7, 20, 33)], text[20:]))
    bound = 1e-4 if dtype == "float32" else 0.1
    torch.testing.assert_close(chunked[0], found[-1], rtol=0, atol=bound)


def test_a_step_that_the_device_refuses_is_an_engine_error(build: Build) -> None:
    from minisgl_tutor.engine.base import EngineError

    hand = build("qwen3")
    batch = hand.batch("prefill", [(0, 0, 4)], prompt(3))
    with pytest.raises(EngineError, match="A prefill step of 1 rows failed"):
        hand.engine.forward_batch(batch)
