"""Tiny models of each family with transformers beside them, and a hand that makes the engine's steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minisgl_tutor.engine.base import ForwardBatch, Phase, SamplingBatch, TableUpdate
from minisgl_tutor.server.config import ServerArgs

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

VOCAB = 96
SHAPE = {
    "vocab_size": VOCAB,
    "hidden_size": 48,
    "intermediate_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "bos_token_id": None,
    "eos_token_id": None,
}
LLAMA3_ROPE = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}
EXPERTS = {"head_dim": 16, "num_experts": 8, "num_experts_per_tok": 3, "moe_intermediate_size": 24}
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama-tied": ("llama", {"tie_word_embeddings": True}),
    "llama3-rope": ("llama", {"rope_parameters": LLAMA3_ROPE}),
    "qwen2": ("qwen2", {}),
    "qwen3": ("qwen3", {"head_dim": 16, "tie_word_embeddings": True}),
    "mistral": ("mistral", {"head_dim": 16, "sliding_window": None}),
    "mistral-window": ("mistral", {"head_dim": 16, "sliding_window": 40, "tie_word_embeddings": True}),
    "qwen3-moe": ("qwen3_moe", {**EXPERTS, "norm_topk_prob": True}),
    "qwen3-moe-mixed": ("qwen3_moe", {**EXPERTS, "mlp_only_layers": [1], "tie_word_embeddings": True}),
    "llama": ("llama", {}),
    "qwen2-tied": ("qwen2", {"tie_word_embeddings": True}),
    "qwen3-untied": ("qwen3", {"head_dim": 16}),
}


@dataclass(frozen=True)
class Peer:
    """A model directory, and transformers' model of the same weights in float32."""

    directory: Path
    model: Any

    def logits(self, tokens: Sequence[int]) -> Any:
        """Scores behind each token, shape [tokens, vocab]."""
        with torch.inference_mode():
            return self.model(torch.tensor([list(tokens)])).logits[0]

    def greedy(self, prompt: Sequence[int], count: int) -> list[int]:
        tokens = list(prompt)
        for _ in range(count):
            tokens.append(int(self.logits(tokens)[-1].argmax()))
        return tokens[len(prompt) :]


@pytest.fixture(scope="session")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Peer]:
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.set_num_threads(1)

    @cache
    def make(family: str) -> Peer:
        model_type, values = FAMILIES[family]
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(model_type, **SHAPE, **values)).eval()
        generator = torch.Generator().manual_seed(7)
        with torch.no_grad():
            # Wide apart, so that no two tokens are nearly equal; norms and biases count as well.
            for parameter in model.parameters():
                spread = 0.15 if parameter.dim() > 1 else 0.3
                parameter.normal_(0, spread, generator=generator).add_(parameter.dim() == 1)
        directory = tmp_path_factory.mktemp(family)
        model.save_pretrained(directory)
        return Peer(directory, model)

    return make


@dataclass
class Hand:
    """Makes steps as a scheduler would. Pages go out in a shuffled order."""

    engine: Any
    rows: dict[int, list[int]] = field(default_factory=dict)
    """By slot, the pages of its row."""
    pending: list[tuple[int, int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        order = np.random.default_rng(1).permutation(self.engine.info.num_pages)
        self.free = [int(page) for page in order]

    def batch(
        self,
        phase: Phase,
        rows: Sequence[tuple[int, int, int]],
        ids: Sequence[int] = (),
        emits: Sequence[bool] | None = None,
        **sampling: Sequence[float],
    ) -> ForwardBatch:
        """Rows are (slot, cached, end). Gives each the pages that it lacks."""
        writes = []
        for slot, _, end in rows:
            pages = self.rows.setdefault(slot, [])
            while len(pages) * self.engine.info.page_size < end:
                writes.append((slot, len(pages), self.free[-1]))
                pages.append(self.free.pop())
        count = len(rows)
        slots, cached, ends = (np.array(column, np.int32) for column in zip(*rows, strict=True))
        return ForwardBatch(
            phase=phase,
            uids=[slot for slot, _, _ in rows],
            slots=slots,
            cached_lens=cached,
            seq_lens=ends,
            input_ids=np.array(ids, np.int32),
            table_update=self.update(writes),
            emits=np.ones(count, bool) if emits is None else np.array(emits),
            sampling=SamplingBatch(
                temperatures=np.array(sampling.get("temperatures", [0] * count), np.float32),
                top_ks=np.array(sampling.get("top_ks", [-1] * count), np.int32),
                top_ps=np.array(sampling.get("top_ps", [1] * count), np.float32),
                seeds=np.array(sampling.get("seeds", [0] * count), np.uint64),
                positions=ends.astype(np.int64),
            ),
        )

    def share(self, source: int, target: int, pages: int) -> None:
        """A prefix hit: the row ``target`` begins with the first pages of ``source``."""
        self.rows[target] = self.rows[source][:pages]
        self.pending = [(target, column, page) for column, page in enumerate(self.rows[target])]

    def update(self, writes: list[tuple[int, int, int]]) -> TableUpdate:
        both, self.pending = self.pending + writes, []
        return TableUpdate(*np.array(both, np.int32).reshape(-1, 3).T)


@pytest.fixture
def build(peer: Callable[[str], Peer]) -> Callable[..., Hand]:
    """An engine of a tiny model: ``build(family, page_size=..., dtype=...)``."""
    from minisgl_tutor.engine.build import build_engine

    def make(family: str, page_size: int = 16, dtype: Any = "float32", **options: Any) -> Hand:
        args = ServerArgs(
            **options,
            model=str(peer(family).directory),
            dtype=dtype,
            page_size=page_size,
            num_pages=512 // page_size,
            max_running_req=8,
            threads=1,
        )
        return Hand(build_engine(args))

    return make
