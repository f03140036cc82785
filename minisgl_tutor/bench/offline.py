"""The offline benchmark of the field: many sequences of random lengths at once, output tokens per second.

256 sequences, 100 to 1024 tokens in and out, lengths drawn with seed 0 as other
engines' benchmarks draw them, temperature 0.6, end-of-sequence ignored. Every run
has other tokens of the same lengths, so that no prefix cache serves a repeat.
"""

from __future__ import annotations

import platform
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ..llm import LLM
from ..message import SamplingParams
from ..models.config import ModelConfig

SHORTEST = 100
TOKEN_IDS = 10_000
PACKAGES = ("torch", "triton", "flashinfer-python", "transformers", "numpy")

# Tokens per second that a public snapshot of mini-sglang (2026-03) reached with overlap on one NVIDIA H200,
# by hidden size and layers of the Qwen3 shapes that it was measured with.
PEERS = {(1024, 28): 21437.0, (5120, 40): 5849.0}

# Bytes a second (a copy, read and write counted) and bfloat16 FLOPs a second (8192^3), measured on the card.
CEILINGS = {"NVIDIA H200": (4.27e12, 767e12)}

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Workload:
    """Input and output lengths, one pair a sequence."""

    inputs: list[int]
    outputs: list[int]

    def prompts(self, tokens: random.Random, vocab_size: int) -> list[list[int]]:
        highest = min(TOKEN_IDS, vocab_size - 1)
        return [[tokens.randint(0, highest) for _ in range(length)] for length in self.inputs]


def draw_workload(sequences: int, longest_input: int, longest_output: int, seed: int = 0) -> Workload:
    """The lengths. The generator also draws the tokens between them, as in other engines' benchmarks."""
    draws = random.Random(seed)
    inputs = []
    for _ in range(sequences):
        inputs.append(draws.randint(SHORTEST, longest_input))
        for _ in range(inputs[-1]):
            draws.randint(0, TOKEN_IDS)
    return Workload(inputs, [draws.randint(SHORTEST, longest_output) for _ in range(sequences)])


@dataclass(frozen=True)
class Run:
    time_s: float
    tokens: int

    @property
    def tok_s(self) -> float:
        return self.tokens / self.time_s


def measure(
    llm: LLM, workload: Workload, temperature: float, tokens: random.Random, progress: Progress
) -> Run:
    """Generates once. The time is from the first prompt handed over to the last text."""
    prompts = workload.prompts(tokens, llm.info.vocab_size)
    params = [
        SamplingParams(ignore_eos=True, max_tokens=length, temperature=temperature)
        for length in workload.outputs
    ]
    begin = time.perf_counter()
    answers = llm.generate(prompts, params, progress)
    took = time.perf_counter() - begin
    return Run(took, sum(len(answer.token_ids) for answer in answers))


def floor_seconds(
    config: ModelConfig, workload: Workload, budget: int, bandwidth: float, flops: float, kv_number: int = 2
) -> float:
    """The least time that the workload can take in bfloat16, if all sequences run at once.

    A number in the K/V cache takes ``kv_number`` bytes. The model has no experts.

    A decode step reads all matrices once, and each running sequence's K and V; it
    writes K and V of one token each. Prefill is bound by its FLOPs. Scores and
    sampling are not counted.
    """
    width, heads_dim = config.hidden_size, config.num_heads * config.head_dim
    layer = width * (heads_dim + 2 * config.num_kv_heads * config.head_dim)
    layer += heads_dim * width + 3 * width * config.intermediate_size
    body, head = layer * config.num_layers, width * config.vocab_size
    weights = 2 * (body + head)
    kv_token = 2 * kv_number * config.num_kv_heads * config.head_dim * config.num_layers
    pairs = list(zip(workload.inputs, workload.outputs, strict=True))
    seconds = 0.0
    for step in range(max(workload.outputs) - 1):
        live = [given + 1 + step for given, wanted in pairs if wanted > step + 1]
        matmul = 2 * len(live) * (body + head)
        attention = 4 * sum(live) * heads_dim * config.num_layers
        seconds += max(weights / bandwidth, matmul / flops)
        seconds += max((sum(live) + len(live)) * kv_token / bandwidth, attention / flops)
    prompt = sum(workload.inputs)
    prefill_flops = 2 * prompt * body + 2 * len(pairs) * head
    prefill_flops += sum(2 * given * given * heads_dim * config.num_layers for given in workload.inputs)
    prefill_bytes = -(-prompt // budget) * weights + prompt * kv_token
    return seconds + max(prefill_flops / flops, prefill_bytes / bandwidth)


def report(
    llm: LLM, config: ModelConfig, workload: Workload, runs: list[Run], options: dict[str, Any]
) -> dict[str, Any]:
    """All that makes the figures comparable."""
    speeds = [run.tok_s for run in runs]
    median = statistics.median(speeds)
    gpu = gpu_name()
    result: dict[str, Any] = {
        "benchmark": "offline",
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{options['tp']} {gpu}" if gpu else f"{platform.machine()} CPU",
        "versions": {"python": platform.python_version(), **dict(_versions())},
        "options": options,
        "model_name": options["model"],
        "overlap": options["overlap"],
        "pages": llm.info.num_pages,
        "sequences": len(workload.inputs),
        "input_tokens": sum(workload.inputs),
        "output_tokens": sum(workload.outputs),
        "runs": [{"time_s": round(run.time_s, 4), "tok_s": round(run.tok_s, 1)} for run in runs],
        "tok_s": {
            "median": round(median, 1),
            "lowest": round(min(speeds), 1),
            "highest": round(max(speeds), 1),
        },
    }
    if options["tp"] > 1:
        return result  # peer and floor are those of one GPU
    peer = PEERS.get((config.hidden_size, config.num_layers)) if gpu == "NVIDIA H200" else None
    if peer and sum(workload.outputs) == 133_966:
        result["ratio_to_peer"] = round(median / peer, 3)
    if gpu in CEILINGS and options["dtype"] == "bfloat16" and config.experts is None:
        number = 1 if options["kv_cache_dtype"] == "fp8" else 2
        floor = floor_seconds(config, workload, options["prefill_budget"], *CEILINGS[gpu], number)
        result["floor_tok_s"] = round(sum(workload.outputs) / floor, 1)
        result["ratio_to_floor"] = round(median * floor / sum(workload.outputs), 3)
    return result


def gpu_name() -> str | None:
    """The name of the first GPU, if there is one."""
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else None


def _versions() -> list[tuple[str, str]]:
    found = []
    for package in PACKAGES:
        try:
            found.append((package, version(package)))
        except PackageNotFoundError:
            continue
    return found
