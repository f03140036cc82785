"""Attention over pages against the formula, row by row in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from minisgl_tutor.attention.base import AttentionBatch  # noqa: E402
from minisgl_tutor.attention.sdpa import MAX_PADDING, SDPABackend, similar  # noqa: E402
from minisgl_tutor.engine.kv_cache import KVCache, kv_bytes_per_token  # noqa: E402
from minisgl_tutor.models.config import parse_model_config  # noqa: E402

HEADS, KV_HEADS, DIM, LAYERS, TOKENS = 6, 2, 16, 2, 512
CONFIG = parse_model_config(
    {
        "architectures": ["LlamaForCausalLM"],
        "vocab_size": 8,
        "hidden_size": HEADS * DIM,
        "intermediate_size": 8,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
    }
)


def expected(q: Any, k: Any, v: Any) -> Any:
    """The last ``len(q)`` of ``len(k)`` tokens attend to themselves and all before them."""
    q, k, v = q.double(), k.double(), v.double()
    out = torch.empty_like(q)
    for index in range(len(q)):
        seen = len(k) - len(q) + index + 1
        for head in range(HEADS):
            group = head // (HEADS // KV_HEADS)
            scores = k[:seen, group] @ q[index, head] / DIM**0.5
            out[index, head] = torch.exp(scores - scores.max()) @ v[:seen, group]
            out[index, head] /= torch.exp(scores - scores.max()).sum()
    return out


@pytest.mark.parametrize("page_size", [1, 3, 16])
def test_rows_of_every_kind_in_one_step(page_size: int) -> None:
    """Whole prompts, later chunks and single tokens, short and long, in the second layer of a used pool."""
    cached = np.array([0, 0, 5, 39, 0, 12, 40, 100, 16], np.int32)
    seq_lens = np.array([7, 1, 6, 40, 33, 30, 41, 101, 32], np.int32)
    generator = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> Any:
        return torch.randn(shape, generator=generator)

    cache = KVCache(CONFIG, TOKENS // page_size, page_size, torch.float32, torch.device("cpu"))
    cache.keys.normal_(generator=generator)
    cache.values.normal_(generator=generator)
    order = torch.randperm(TOKENS // page_size, generator=generator)
    width = -(-int(seq_lens.max()) // page_size)
    pages = torch.zeros(len(seq_lens), width, dtype=torch.int64)
    for row, length in enumerate(seq_lens):
        used = -(-int(length) // page_size)
        pages[row, :used], order = order[:used], order[used:]

    def locations(row: int, start: int, end: int) -> Any:
        at = torch.arange(start, end)
        return pages[row, at // page_size] * page_size + at % page_size

    spans = list(zip(range(len(seq_lens)), cached.tolist(), seq_lens.tolist(), strict=True))
    new = torch.cat([locations(*span) for span in spans])
    backend = SDPABackend(cache)
    history = [(draw(int(n), KV_HEADS, DIM), draw(int(n), KV_HEADS, DIM)) for n in seq_lens]
    for (row, before, _), (k, v) in zip(spans, history, strict=True):
        cache.store(1, cache.token_index(locations(row, 0, before)), k[:before], v[:before])

    plan = backend.plan(AttentionBatch(cached, seq_lens, pages, new))
    q = draw(len(new), HEADS, DIM)
    k_new, v_new = (
        torch.cat([pair[part][before:] for (_, before, _), pair in zip(spans, history, strict=True)])
        for part in (0, 1)
    )
    first_layer = cache.keys[0].clone()
    found = backend.forward(q, k_new, v_new, 1, plan)
    assert torch.equal(cache.keys[0], first_layer)

    start = 0
    for (_, before, end), (k, v) in zip(spans, history, strict=True):
        span = slice(start, start + end - before)
        torch.testing.assert_close(found[span].double(), expected(q[span], k, v), rtol=0, atol=1e-5)
        start = span.stop


@given(st.lists(st.integers(1, 5000), max_size=40))
def test_groups_hold_each_row_once_and_little_padding(lens: list[int]) -> None:
    seq_lens = np.array(lens, np.int32)
    groups = similar(seq_lens, np.arange(len(lens)))
    assert sorted(int(row) for group in groups for row in group) == list(range(len(lens)))
    for group in groups:
        assert seq_lens[group].min() >= (1 - MAX_PADDING) * seq_lens[group].max()


def test_memory_of_a_token() -> None:
    cache = KVCache(CONFIG, 4, 8, torch.bfloat16, torch.device("cpu"))
    taken = cache.keys.nbytes + cache.values.nbytes
    assert taken == 4 * 8 * kv_bytes_per_token(CONFIG, torch.bfloat16)
