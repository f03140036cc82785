"""Is a model divided among GPUs the same model, and how much faster is it? Prints JSON; 0 if the text holds.

    python benchmarks/tp_check.py equal  [--models NAME=DIR ...] [--out FILE]
    python benchmarks/tp_check.py reduce [--out FILE]
    python benchmarks/tp_check.py speed --model DIR --tp-order 1 2 2:nccl 1 2 [--out FILE]

* equal: greedy text with ``--tp`` ranks against one, of the shipped model and of dummy weights in other
  shapes, in float32 and bfloat16. Where two texts part, the scores of the two tokens must be near.
* reduce: microseconds that a sum over the ranks takes in a CUDA graph, by NCCL and in one shot
* speed: one stream, and 64, of 512 tokens in and 256 out, in the order given, each in a fresh process

With ``--device cpu`` everything but ``reduce`` runs over gloo, to try the script itself.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

# Multicast over NVLink can put GPUs out of service that others share; nothing here needs it.
os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
os.environ.setdefault("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1")

import numpy as np
import torch

from minisgl_tutor.engine.base import ForwardBatch, SamplingBatch, TableUpdate
from minisgl_tutor.llm import LLM
from minisgl_tutor.message import SamplingParams
from minisgl_tutor.server.config import SchedulerConfig

TIE = {"float32": 1e-3, "bfloat16": 0.12}
"""How near two scores are that rounding may exchange, as a part of the standard deviation of all scores.

In bfloat16 scores are off by 1.6 % of that on average, as gpu_check.py measures; by four
times that in the tail, and both scores are.
"""

TEXTS = [
    "What does the scheduler do?",
    "Hello",
    "How does a token reach the client?",
    "What is a page in the KV cache?",
    "Tell me about the radix cache.",
    "Why is the sky blue?",
    "max_tokens",
    "When the client disconnects,",
]


def load(model: str | None, tp: int, device: str, **options: Any) -> LLM:
    chosen: dict[str, Any] = {"page_size": 16, "num_pages": 2000, "max_seq_len": 1024, "max_running_req": 64}
    scheduler = SchedulerConfig(prefill_budget=options.pop("budget", 2048), seed=0)
    return LLM(model, tp=tp, device=device, scheduler=scheduler, log_level="warning", **(chosen | options))


def equal(args: argparse.Namespace) -> dict[str, Any]:
    found: dict[str, Any] = {}
    models: dict[str, str | None] = {"shipped": None}
    models |= dict(pair.split("=", 1) for pair in args.models)
    for name, model in models.items():
        for dtype in ("float32", "bfloat16"):
            options = {"dtype": dtype, "dummy_weight": model is not None, "cuda_graph_max_bs": 16}
            options["all_reduce"] = args.all_reduce
            alone = load(model, 1, args.device, **options)
            draws = random.Random(1)
            prompts = [alone.tokenizer.encode(text) for text in TEXTS]
            if model is not None:
                top = min(10_000, alone.info.vocab_size - 1)
                prompts = [[draws.randint(0, top) for _ in range(length)] for length in (7, 60, 200, 33)]
            params = SamplingParams(max_tokens=64, ignore_eos=True)
            expected = [answer.token_ids for answer in alone.generate(prompts, params)]
            answers = {}
            for tp in args.tp:
                divided = load(model, tp, args.device, **options)
                answers[tp] = [answer.token_ids for answer in divided.generate(prompts, params)]
                divided.close()
            for tp, texts in answers.items():
                parted = [
                    difference(alone, prompt, one, other)
                    for prompt, one, other in zip(prompts, expected, texts, strict=True)
                    if one != other
                ]
                near = all(row["margin"] <= TIE[dtype] * row["spread"] for row in parted)
                key = f"{name}, {dtype}, tp {tp}"
                same = len(prompts) - len(parted)
                found[key] = {"ok": near, "equal": same, "of": len(prompts), "parted": parted}
                print(key, json.dumps(found[key]), flush=True)
            del alone
            if args.device == "cuda":
                torch.cuda.empty_cache()
    return {"ok": all(row["ok"] for row in found.values()), "tie": TIE, "by_model": found}


def difference(judge: LLM, prompt: list[int], one: list[int], other: list[int]) -> dict[str, float]:
    """Where two texts part, how far apart the two tokens' scores are there, and how far all are spread."""
    at = next(i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    ids = np.array(prompt + one[:at], np.int32)
    pages = np.arange(-(-len(ids) // judge.info.page_size), dtype=np.int32)
    zero, lens = np.zeros(1, np.int32), np.array([len(ids)], np.int32)
    greedy = SamplingBatch(
        np.zeros(1, np.float32),
        np.full(1, -1, np.int32),
        np.ones(1, np.float32),
        np.zeros(1, np.uint64),
        lens.astype(np.int64),
    )
    update = TableUpdate(np.zeros_like(pages), pages, pages)
    step = ForwardBatch("prefill", [0], zero, zero, lens, ids, update, np.ones(1, bool), greedy)
    scores = judge.offline.scheduler.engine.logits(step)[0].float()  # type: ignore[attr-defined]
    margin = float((scores[one[at]] - scores[other[at]]).abs())
    return {"at_token": at, "margin": round(margin, 5), "spread": round(float(scores.std()), 5)}


def reduce(args: argparse.Namespace) -> dict[str, Any]:
    """Two ranks, each a process of its own."""
    meeting = args.scratch / "meeting"
    meeting.unlink(missing_ok=True)
    command = [sys.executable, __file__, "reduce-rank", "--scratch", str(args.scratch)]
    ranks = [subprocess.Popen([*command, "--rank", str(rank)]) for rank in range(2)]
    status = [rank.wait(timeout=120) for rank in ranks]
    result: dict[str, Any] = json.loads((args.scratch / "reduce.json").read_text())
    return {"ok": status == [0, 0] and result["right"], **result}


def reduce_rank(args: argparse.Namespace) -> dict[str, Any]:
    from minisgl_tutor.distributed.group import TorchGroup
    from minisgl_tutor.distributed.seat import Seat

    seat = Seat(args.rank, 2, args.rank, 2, str(args.scratch / "meeting"))
    group = TorchGroup.join(seat, torch.device("cuda"), torch.bfloat16)
    one_shot = group._one_shot
    found: dict[str, Any] = {"one_shot": one_shot is not None, "right": True, "us": {}}
    with torch.inference_mode():
        for rows in (1, 8, 64, 128, 256):
            x = torch.full((rows, 5120), float(args.rank + 1), dtype=torch.bfloat16, device="cuda")
            for name, kernel in (("nccl", None), ("one shot", one_shot)):
                if name == "one shot" and (one_shot is None or not one_shot.covers(x)):
                    continue
                group._one_shot = kernel
                found["us"][f"{rows} rows, {name}"] = round(sum_time(group, x), 2)
                summed = group.all_reduce(x.clone())
                found["right"] &= bool((summed == 3).all())
        scores = torch.zeros(64, 75968, dtype=torch.bfloat16, device="cuda")
        gather = captured(lambda: group.all_gather(scores))
        found["us"]["gather of 64 rows of scores"] = round(gather, 2)
    if args.rank == 0:
        (args.scratch / "reduce.json").write_text(json.dumps(found))
    return {"ok": True, **found}


def sum_time(group: Any, x: torch.Tensor) -> float:
    return captured(lambda: group.all_reduce(x.mul(1)))


def captured(call: Any, repeats: int = 40) -> float:
    """Microseconds of one call among many in a CUDA graph, median of ten replays."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        for _ in range(repeats):
            call()
    times = []
    for _ in range(12):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1000 / repeats)
    return statistics.median(times[2:])


def speed(args: argparse.Namespace) -> dict[str, Any]:
    found = []
    for setting in args.tp_order:
        tp, _, all_reduce = setting.partition(":")
        out = args.scratch / "speed.json"
        command = [sys.executable, __file__, "speed-once", "--model", args.model, "--device", args.device]
        command += ["--tp", tp, "--all-reduce", all_reduce or "auto", "--out", str(out)]
        command += ["--streams", str(args.streams), "--n-in", str(args.n_in), "--n-out", str(args.n_out)]
        subprocess.run(command, check=True)
        found.append({"setting": setting, **json.loads(out.read_text())})
    return {"ok": True, "model": Path(args.model).name, "runs": found}


def speed_once(args: argparse.Namespace) -> dict[str, Any]:
    """Wall times around ``generate``. A token's time is that between its arrival and the one before."""
    begin = time.perf_counter()
    limit = args.n_in + args.n_out
    llm = load(
        args.model,
        args.tp[0],
        args.device,
        dummy_weight=True,
        page_size=64,
        num_pages=args.streams * (-(-limit // 64) + 1),
        max_seq_len=limit,
        max_running_req=args.streams,
        budget=16_384 if args.device == "cuda" else 256,
        cuda_graph_max_bs=args.streams,
        all_reduce=args.all_reduce,
        dtype=args.dtype,
    )
    result: dict[str, Any] = {"ok": True, "ready_s": round(time.perf_counter() - begin, 1)}
    draws = random.Random(2)
    params = SamplingParams(max_tokens=args.n_out, ignore_eos=True)

    def once(streams: int) -> tuple[float, list[float]]:
        top = min(10_000, llm.info.vocab_size - 1)
        prompts = [[draws.randint(0, top) for _ in range(args.n_in)] for _ in range(streams)]
        stamps: list[float] = []
        begin = time.perf_counter()
        answers = llm.generate(
            prompts, params, lambda new: stamps.append(time.perf_counter()) if new else None
        )
        took = time.perf_counter() - begin
        assert all(len(answer.token_ids) == args.n_out for answer in answers)
        return took, [after - before for before, after in pairwise(stamps)]

    once(1), once(args.streams)
    ones = [once(1) for _ in range(4)]
    result["one_stream_ms"] = [round(statistics.median(gaps) * 1000, 3) for _, gaps in ones]
    many = [once(args.streams) for _ in range(3)]
    result["streams"] = args.streams
    result["tok_s"] = [round(args.streams * args.n_out / took, 1) for took, _ in many]
    result["step_ms"] = [round(statistics.median(gaps) * 1000, 3) for _, gaps in many]
    llm.close()
    return result


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["equal", "reduce", "reduce-rank", "speed", "speed-once"])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--models", nargs="*", default=[])
    parser.add_argument("--model")
    parser.add_argument("--tp", type=int, nargs="*", default=[2])
    parser.add_argument("--tp-order", nargs="*", default=["1", "2"])
    parser.add_argument("--all-reduce", default="auto")
    parser.add_argument("--streams", type=int, default=64)
    parser.add_argument("--n-in", type=int, default=512)
    parser.add_argument("--n-out", type=int, default=256)
    parser.add_argument("--rank", type=int)
    parser.add_argument("--scratch", type=Path, default=Path("/tmp"))
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    checks = {
        "equal": equal,
        "reduce": reduce,
        "reduce-rank": reduce_rank,
        "speed": speed,
        "speed-once": speed_once,
    }
    result = checks[args.what](args)
    result["machine"] = (
        f"{torch.cuda.device_count()} {torch.cuda.get_device_name()}" if torch.cuda.is_available() else "CPU"
    )
    result["versions"] = {name: version(name) for name in ("torch", "numpy")}
    text = json.dumps(result, indent=1)
    if args.out:
        args.out.write_text(text + "\n")
    print(text)
    return 0 if result["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
