"""What a replayed step cannot draw is drawn again, and comes out as in a step that is not replayed.

Needs Triton's interpreter (TRITON_INTERPRET=1): plain steps on the CPU stand in for captured ones.
``benchmarks/gpu_check.py`` asks the same of a GPU.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers.models import WordLevel

from minisgl_tutor.engine.base import ForwardBatch
from minisgl_tutor.llm import LLM, Generation
from minisgl_tutor.message import SamplingParams
from minisgl_tutor.tokenizer.tokenizer import Tokenizer

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
if os.environ.get("TRITON_INTERPRET") != "1":
    pytest.skip("needs Triton's interpreter", allow_module_level=True)

from minisgl_tutor.engine.cuda_engine import CudaEngine  # noqa: E402
from minisgl_tutor.engine.gumbel import draw  # noqa: E402
from minisgl_tutor.engine.packed_rows import effective_temperatures  # noqa: E402

WANTED: list[dict[str, Any]] = [
    {"temperature": 1.0},
    {"frequency_penalty": 1.5, "logprobs": 4},
    {"presence_penalty": 2.0, "temperature": 1.5, "logprobs": 0},
    {"min_p": 0.05, "temperature": 2.0},
    {"logit_bias": {3: 100.0, 8: 99.5}, "temperature": 1.0, "presence_penalty": 1.0},
    {"logprobs": 20},
    {"top_k": 5, "temperature": 3.0, "frequency_penalty": -0.5, "logprobs": 1},
    {"logit_bias": {3: 100.0, 8: 99.5}, "presence_penalty": 1.0},
]
LENGTH = 8
PARAMS = [
    SamplingParams(max_tokens=LENGTH, ignore_eos=True, seed=row, **own) for row, own in enumerate(WANTED)
]
PROMPTS = [[int(t) for t in np.random.default_rng(seed).integers(0, 96, 5 + seed)] for seed in range(8)]


class Replays:
    """Knows temperatures alone, as a graph does."""

    def __init__(self, engine: CudaEngine) -> None:
        self.engine = engine
        self.steps = 0

    def covers(self, batch: ForwardBatch) -> bool:
        return batch.phase == "decode"

    def replay(self, batch: ForwardBatch) -> Any:
        self.steps += 1
        logits, sampling = self.engine.logits(batch), batch.sampling
        tokens = torch.empty(len(logits), dtype=torch.int32, device=logits.device)
        temperatures = torch.from_numpy(effective_temperatures(sampling))
        seeds = torch.from_numpy(sampling.seeds.view(np.int64))
        draw(logits, temperatures, seeds, torch.from_numpy(batch.seq_lens), tokens)
        self.engine.token_pool[torch.from_numpy(batch.slots), torch.from_numpy(batch.seq_lens)] = tokens
        return logits, tokens


def generate(engine: Any) -> list[Generation]:
    words = Tokenizer(LibraryTokenizer(WordLevel({f"w{i}": i for i in range(96)}, unk_token="w0")))
    return LLM.of_engine(engine, words, frozenset()).generate(PROMPTS, PARAMS)


def test_replayed_steps_give_the_same_as_others(build: Callable[..., Any]) -> None:
    plain = build("qwen3").engine
    parts = plain.model, plain.backend, plain.info, plain.device
    engine = CudaEngine(*parts, spare_page=0)
    not_replayed = generate(engine)
    engine.graphs = replays = Replays(engine)  # type: ignore[assignment]
    assert generate(engine) == not_replayed
    assert replays.steps >= LENGTH - 1
    # The draws of the CPU's sampler are other ones, but greedy choices and what is said of them are the same.
    for own, other, params in zip(not_replayed, generate(plain), PARAMS, strict=True):
        assert len(own.logprobs) == (0 if params.logprobs is None else LENGTH)
        if params.temperature == 0:
            assert own.token_ids == other.token_ids
            assert own.logprobs == other.logprobs
