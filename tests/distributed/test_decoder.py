"""Scores of a divided model are those of the whole one, for each family and for sizes that do not divide."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minisgl_tutor.engine.base import ForwardBatch, SamplingBatch, TableUpdate
from minisgl_tutor.server.config import ServerArgs

torch = pytest.importorskip("torch")

from .conftest import Table, ThreadGroup  # noqa: E402

SIZES = {"hidden_size": 16, "intermediate_size": 26, "vocab_size": 35, "num_hidden_layers": 2, "head_dim": 8}
EXPERTS = {"num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 10, "norm_topk_prob": True}
MODELS: dict[str, tuple[str, int, int, dict[str, Any], int]] = {
    "llama, tied": ("LlamaForCausalLM", 4, 2, {"tie_word_embeddings": True}, 2),
    "copied K/V heads": ("Qwen3ForCausalLM", 4, 2, {}, 4),
    "K/V heads across a boundary, biases": ("Qwen2ForCausalLM", 15, 3, {}, 5),
    "experts": ("Qwen3MoeForCausalLM", 4, 2, EXPERTS, 2),
    "experts, 3 ranks": ("Qwen3MoeForCausalLM", 6, 2, EXPERTS, 3),
}


def prompt(length: int, page_size: int) -> ForwardBatch:
    """A prompt in slot 0, from page 0 on."""
    pages = np.arange(-(-length // page_size), dtype=np.int32)
    zero, lens = np.zeros(1, np.int32), np.array([length], np.int32)
    greedy = SamplingBatch(
        temperatures=np.zeros(1, np.float32),
        top_ks=np.full(1, -1, np.int32),
        top_ps=np.ones(1, np.float32),
        seeds=np.zeros(1, np.uint64),
        positions=lens.astype(np.int64),
    )
    ids = (np.arange(length) * 11 % 35).astype(np.int32)
    update = TableUpdate(np.zeros_like(pages), pages, pages)
    return ForwardBatch("prefill", [0], zero, zero, lens, ids, update, np.ones(1, bool), greedy)


@pytest.mark.parametrize("name", MODELS)
def test_scores(name: str, tmp_path: Path) -> None:
    from minisgl_tutor.engine.build import build_engine

    architecture, heads, kv_heads, extra, size = MODELS[name]
    counts = {"num_attention_heads": heads, "num_key_value_heads": kv_heads}
    config = {"architectures": [architecture], **SIZES, **counts, **extra}
    (tmp_path / "config.json").write_text(json.dumps(config))
    args = ServerArgs(
        model=str(tmp_path), dummy_weight=True, dtype="float32", threads=1, page_size=4, num_pages=8
    )
    batch = prompt(length=13, page_size=4)
    expected = build_engine(args).logits(batch)
    table = Table(size)
    with ThreadPoolExecutor(size) as pool:
        groups = [ThreadGroup(rank, table) for rank in range(size)]
        engines = list(pool.map(lambda group: build_engine(args, group), groups))
        found = list(pool.map(lambda engine: engine.logits(batch), engines))
    assert expected.shape == (1, 35) and float(expected.std()) > 0.01
    for scores in found:
        assert torch.equal(scores, found[0])
        torch.testing.assert_close(scores, expected, rtol=1e-4, atol=1e-6)
