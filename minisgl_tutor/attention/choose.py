"""Which attention a server runs: what ``--attn`` asks for, and whether this machine has it."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ..engine.kv_cache import KVCache
from ..language import Sentence
from ..models.config import ModelConfig
from ..models.errors import ModelError
from .base import AttentionBackend, AttentionBatch, AttentionPlan, DecodeBackend, PromptBackend, Sink
from .sdpa import SDPABackend

NAMES = ("auto", "fi", "triton", "sdpa")
FLASHINFER_HEAD_DIMS = (64, 128, 256)


@dataclass(frozen=True)
class Chosen:
    """Names of the backends. ``decode`` other than "sdpa" can be captured.

    With ``captures_prompts`` Triton computes short prompts, which can be captured then,
    and ``prefill`` names what computes the others.
    """

    prefill: str
    decode: str
    captures_prompts: bool = False


def choose(attn: str, config: ModelConfig, dtype: torch.dtype, device: torch.device) -> Chosen:
    """What ``attn`` means here: one of ``NAMES``, or two, for prefill and decode.

    "auto" is, on a GPU, Triton for decode and for short prompts, FlashInfer for others
    where it can run, and SDPA otherwise.

    Raises:
        ModelError: no such name, or it cannot run here; one sentence says why and what to do.
    """
    names = attn.split(",")
    if len(names) > 2 or not set(names) <= set(NAMES):
        raise ModelError(
            Sentence(
                "--attn {attn} is none of {listed}, nor two of them for prefill,decode.",
                attn=attn,
                listed=", ".join(NAMES),
            )
        )
    prefill, decode = names[0], names[-1]
    problem = flashinfer_problem(config, dtype, device)
    if "fi" in names and problem:
        raise ModelError(
            Sentence("--attn {attn}: FlashInfer {problem}, or give --attn auto.", attn=attn, problem=problem)
        )
    if "triton" in names and (device.type != "cuda" or find_spec("triton") is None):
        raise ModelError(
            Sentence(
                "--attn {attn}: Triton needs a GPU and a CUDA build of torch; give --attn sdpa.", attn=attn
            )
        )
    captured = device.type == "cuda" and find_spec("triton") is not None
    if prefill == "triton" and len(names) == 1:
        prefill = "auto"
    if prefill == "triton":
        raise ModelError(
            Sentence("--attn {attn}: Triton's is for decode only; give fi or sdpa for prefill.", attn=attn)
        )
    captures_prompts = captured and prefill == "auto"
    if prefill == "auto":
        prefill = "sdpa" if problem else "fi"
    if decode == "auto":
        decode = "triton" if captured else "sdpa"
    return Chosen(prefill, decode, captures_prompts)


def flashinfer_problem(config: ModelConfig, dtype: torch.dtype, device: torch.device) -> Sentence | None:
    """Why FlashInfer cannot run this model here, as the rest of a sentence; ``None`` if it can."""
    if device.type != "cuda":
        return Sentence("needs a GPU; give --device cuda")
    if find_spec("flashinfer") is None:
        return Sentence("is not installed; `minisgl-tutor doctor` says how to install it")
    if find_spec("flashinfer_jit_cache") is None and find_nvcc() is None:
        return Sentence(
            "builds its kernels with nvcc, which is not found; install the CUDA toolkit and set CUDA_HOME, "
            "or install flashinfer-jit-cache"
        )
    if dtype not in (torch.bfloat16, torch.float16):
        return Sentence("computes in 16 bits only; give --dtype bfloat16")
    if config.head_dim not in FLASHINFER_HEAD_DIMS:
        return Sentence(
            "has no kernels for heads of {head_dim} dimensions; give --attn sdpa", head_dim=config.head_dim
        )
    return None


def find_nvcc() -> Path | None:
    """The CUDA compiler, where FlashInfer would look for it."""
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda"
    found = shutil.which("nvcc", path=str(Path(home) / "bin")) or shutil.which("nvcc")
    return Path(found) if found else None


def eager_backend(chosen: Chosen, cache: KVCache, num_heads: int) -> AttentionBackend:
    """For steps that are not replayed: prefill, and decode where it is not captured."""
    sdpa = SDPABackend(cache)
    if chosen.prefill == "sdpa":
        return sdpa
    from .flashinfer import FlashInferPrefill

    prefill = FlashInferPrefill(cache, num_heads)
    return ByPhase(prefill, sdpa) if chosen.decode == "sdpa" else prefill


def decode_backend(chosen: Chosen, cache: KVCache, num_heads: int, max_rows: int) -> DecodeBackend | None:
    """For replayed steps; ``None`` if decode is not to be captured."""
    if chosen.decode == "fi":
        from .flashinfer import FlashInferDecode

        return FlashInferDecode(cache, num_heads)
    if chosen.decode == "triton":
        from .paged_decode import PagedDecode

        return PagedDecode(cache, num_heads, max_rows)
    return None


def prompt_backend(chosen: Chosen, cache: KVCache) -> PromptBackend | None:
    """For replayed prefill steps; ``None`` if they are not to be captured."""
    if not chosen.captures_prompts:
        return None
    from .paged_prefill import PagedPrefill

    return PagedPrefill(cache)


@dataclass(frozen=True)
class PhasePlan:
    backend: AttentionBackend
    plan: AttentionPlan


class ByPhase:
    """One backend for steps of one token a row, another for all others."""

    def __init__(self, prefill: AttentionBackend, decode: AttentionBackend) -> None:
        self.prefill = prefill
        self.decode = decode

    def plan(self, batch: AttentionBatch) -> PhasePlan:
        single = bool(np.all(batch.seq_lens - batch.cached_lens == 1))
        backend = self.decode if single else self.prefill
        return PhasePlan(backend, backend.plan(batch))

    def sink(self, layer: int, plan: AttentionPlan) -> Sink | None:
        assert isinstance(plan, PhasePlan)
        return plan.backend.sink(layer, plan.plan)

    def forward(self, q: Tensor, k: Tensor, v: Tensor, layer: int, plan: AttentionPlan) -> Tensor:
        assert isinstance(plan, PhasePlan)
        return plan.backend.forward(q, k, v, layer, plan.plan)
