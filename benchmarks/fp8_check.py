"""What an 8-bit K/V cache costs in accuracy and gives in speed, and whether mixtures of experts run.

    python benchmarks/fp8_check.py [--model PATH] [--bench DIR] [--only PART ...] [--out FILE] [--device cpu]

Prints the verdict as JSON; the exit status is 0 if everything holds. On a GPU, with ``--bench DIR``,
a folder with a model's configuration and tokenizer, which then has random weights:

* accuracy of ``--model`` (the one that ships, if not given), and accuracy-of-dummy: scores of prompts and
  of answers fed token by token, in decode from captured steps, for each type of cache and attention
* speed: ``bench offline`` with either cache, ``--rounds`` times one after the other
* experts: the shape of Qwen3-30B-A3B with ``--layers`` layers; captured decode against steps that are not,
  and ``bench offline``

On a CPU only the accuracy of ``--model`` is looked at.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from minisgl_tutor.engine.base import ForwardBatch, SamplingBatch, TableUpdate
from minisgl_tutor.engine.build import build_engine
from minisgl_tutor.models.resolve import resolve_model
from minisgl_tutor.server.config import ServerArgs
from minisgl_tutor.tokenizer.load import load_tokenizer

MEAN_BOUND = 0.15
"""How far scores may be from those with a 16-bit cache, on average, in deviations of the scores."""

PAGE = 16
QUESTIONS = [
    "What does the scheduler do?",
    "Why is the sky blue? Answer in one sentence.",
    "What is a page in the KV cache?",
    "Name three colours of the rainbow.",
    "How does a token reach the client?",
    "Explain what a queue is to a child who has waited for ice cream.",
    "What does a tokenizer do in a language model?",
    "用一句话介绍北京。",
    "Write a Python function that reverses a string.",
    "When the client disconnects, what happens to its request?",
]
STORY = (
    "A request is put into a queue, and the scheduler takes it out when there is room. Its prompt is "
    "computed first, in one step or in several, and the keys and values of all of its tokens are kept in "
    "pages. Then one token a step is drawn, until the answer ends or the client has left. "
)
EXPERTS = {
    "architectures": ["Qwen3MoeForCausalLM"],
    "model_type": "qwen3_moe",
    "hidden_size": 2048,
    "intermediate_size": 6144,
    "moe_intermediate_size": 768,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "norm_topk_prob": True,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "tie_word_embeddings": False,
}


@dataclass(frozen=True)
class Way:
    """Types of the computation and of the cache. ``eager`` names an attention, and captures no step."""

    dtype: str
    cache: str
    eager: str | None = None

    @property
    def name(self) -> str:
        return f"{self.dtype}, {self.cache} cache" + (f", {self.eager} without graphs" if self.eager else "")


def make_prompts(model_dir: Path, dummy: bool) -> list[list[int]]:
    """Short and long ones; of a model with random weights, random tokens."""
    tokenizer = load_tokenizer(model_dir)
    if dummy:
        draws = np.random.default_rng(0)
        return [draws.integers(0, 10_000, length).tolist() for length in (5, 64, 131, 500, 900)]
    texts = QUESTIONS + [STORY * count + QUESTIONS[count] for count in (2, 4, 8)]
    return [
        tokenizer.encode(tokenizer.apply_chat_template([{"role": "user", "content": text}])) for text in texts
    ]


class Steps:
    """Feeds an engine prompts, then one token of each answer a step; its tokens or given ones."""

    def __init__(self, args: ServerArgs, prompts: list[list[int]], count: int) -> None:
        self.prompts, self.count = prompts, count
        rows = len(prompts)
        self.width = -(-(max(map(len, prompts)) + count) // PAGE)
        sizes = {"max_running_req": rows, "num_pages": rows * self.width, "page_size": PAGE}
        self.engine = build_engine(ServerArgs(**{**vars_of(args), **sizes}))
        self.slots = np.arange(rows, dtype=np.int32)

    def run(self, answers: list[list[int]] | None) -> tuple[Any, list[list[int]]]:
        """Scores before each token, [prompts, count, vocab], and the tokens fed: given, or the likeliest."""
        lens = np.array([len(prompt) for prompt in self.prompts], np.int32)
        slots, columns = np.divmod(np.arange(len(lens) * self.width, dtype=np.int32), self.width)
        table = TableUpdate(slots, columns, np.arange(len(slots), dtype=np.int32))
        flat = np.array([token for prompt in self.prompts for token in prompt], np.int32)
        scores = [
            self.engine.logits(self._batch("prefill", np.zeros_like(lens), lens, flat, table)).float().cpu()
        ]
        fed: list[list[int]] = [[] for _ in self.prompts]
        none = TableUpdate(*(np.empty(0, np.int32) for _ in range(3)))
        for step in range(self.count - 1):
            chosen = scores[-1].argmax(-1).tolist()
            tokens = chosen if answers is None else [answer[step] for answer in answers]
            with torch.inference_mode():
                for row, token in enumerate(tokens):
                    fed[row].append(token)
                    self.engine.token_pool[row, int(lens[row]) + step] = token
            now = lens + step
            scores.append(self._decode(self._batch("decode", now, now + 1, np.empty(0, np.int32), none)))
        return torch.stack(scores, 1), fed

    def _decode(self, batch: ForwardBatch) -> Any:
        graphs = getattr(self.engine, "graphs", None)
        if graphs is None:
            return self.engine.logits(batch).float().cpu()
        with torch.inference_mode():
            return graphs.replay(batch)[0].float().cpu()

    def _batch(
        self, phase: Any, cached: np.ndarray, ends: np.ndarray, ids: np.ndarray, update: TableUpdate
    ) -> ForwardBatch:
        rows = len(ends)
        greedy = SamplingBatch(
            np.zeros(rows, np.float32),
            np.full(rows, -1, np.int32),
            np.ones(rows, np.float32),
            np.zeros(rows, np.uint64),
            ends.astype(np.int64),
        )
        cached, ends = cached.astype(np.int32), ends.astype(np.int32)
        return ForwardBatch(
            phase, list(range(rows)), self.slots, cached, ends, ids, update, np.ones(rows, bool), greedy
        )


def vars_of(args: ServerArgs) -> dict[str, Any]:
    return {name: getattr(args, name) for name in args.__dataclass_fields__}


def free() -> None:
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def accuracy(model: str | None, device: str, dummy: bool, count: int) -> dict[str, Any]:
    """Every way's scores against those of float32, and of a 16-bit cache; then its own greedy text."""
    ways = [Way("float32", "auto"), Way("float32", "fp8"), Way("bfloat16", "auto"), Way("bfloat16", "fp8")]
    if device == "cuda":
        ways += [Way("bfloat16", cache, attn) for attn in ("fi,triton", "sdpa") for cache in ("auto", "fp8")]
    # A model that is a file is unpacked in the type that it is run in.
    directories = {dtype: str(resolve_model(model, dtype)) for dtype in ("float32", "bfloat16")}
    prompts = make_prompts(Path(directories["float32"]), dummy)
    scores: dict[Way, Any] = {}
    texts: dict[Way, list[list[int]]] = {}
    answers: list[list[int]] | None = None
    for way in ways:
        args = ServerArgs(
            model=directories[way.dtype],
            device=device,
            dtype=way.dtype,  # type: ignore[arg-type]
            kv_cache_dtype=way.cache,  # type: ignore[arg-type]
            attn=way.eager or "auto",
            cuda_graph_max_bs=0 if way.eager else None,
            dummy_weight=dummy,
            max_seq_len=max(map(len, prompts)) + count,
        )
        begin = time.perf_counter()
        steps = Steps(args, prompts, count)
        scores[way], fed = steps.run(answers)
        texts[way] = fed if answers is None else steps.run(None)[1]
        answers = answers or fed
        del steps
        free()
        print(f"  {way.name}: {time.perf_counter() - begin:.0f} s", file=sys.stderr, flush=True)
    exact, sixteen = scores[ways[0]], scores[ways[2]]
    found: dict[str, Any] = {
        "prompt_tokens": [len(prompt) for prompt in prompts],
        "answer_tokens": count,
        "deviation_of_scores": round(float(exact.std(-1).mean()), 4),
        "against float32, auto cache": {way.name: differ(scores[way], exact) for way in ways[1:]},
        "fp8 cache against auto cache": {
            way.name: {
                **differ(scores[way], scores[Way(way.dtype, "auto", way.eager)]),
                **same_text(texts[way], texts[Way(way.dtype, "auto", way.eager)]),
            }
            for way in ways
            if way.cache == "fp8"
        },
        "greedy text, bfloat16 against float32": same_text(texts[ways[2]], texts[ways[0]]),
    }
    worst = max(row["mean_in_deviations"] for row in found["fp8 cache against auto cache"].values())
    found["ok"] = bool(worst < MEAN_BOUND and torch.isfinite(sixteen).all())
    return found


def differ(found: Any, expected: Any) -> dict[str, float]:
    gaps = (found - expected).abs()
    same = found.argmax(-1) == expected.argmax(-1)
    return {
        "max": round(float(gaps.max()), 4),
        "mean": round(float(gaps.mean()), 5),
        "mean_in_deviations": round(float(gaps.mean() / expected.std(-1).mean()), 5),
        "same_choice": round(float(same.float().mean()), 4),
    }


def same_text(found: list[list[int]], expected: list[list[int]]) -> dict[str, Any]:
    """How many greedy texts are equal, and after how many tokens the others part, on average."""
    parted = [
        next(at for at, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1])
        for one, other in zip(found, expected, strict=True)
        if one != other
    ]
    result: dict[str, Any] = {"equal_texts": len(found) - len(parted), "of": len(found)}
    if parted:
        result["others_part_after"] = round(float(np.mean(parted)), 1)
    return result


def bench(folder: Path, runs: int, *options: str) -> dict[str, Any]:
    """``bench offline`` in a process of its own, and of its result what is compared."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "result.json"
        command = [sys.executable, "-m", "minisgl_tutor", "bench", "offline", "--dummy-weight"]
        command += ["--model", str(folder), "--runs", str(runs), "--out", str(out), *options]
        subprocess.run(command, check=True, stdout=sys.stderr)
        result = json.loads(out.read_text(encoding="utf-8"))
    return {name: result[name] for name in ("tok_s", "runs", "pages", "options", "machine", "versions")}


def speed(folder: Path, runs: int, rounds: int) -> dict[str, Any]:
    """16 bits and 8 bits in turn, as a machine's speed may drift."""
    order = ["auto", "fp8"] * rounds
    rows = [(cache, bench(folder, runs, "--kv-cache-dtype", cache)) for cache in order]
    return {"ok": True, "runs": [{"kv_cache_dtype": cache, **row} for cache, row in rows]}


def experts(folder: Path, layers: int, runs: int) -> dict[str, Any]:
    """The decode of a sparse model as captured steps, against eager steps; then its speed."""
    with tempfile.TemporaryDirectory() as directory:
        dummy = Path(directory) / f"qwen3-30b-a3b-{layers}-layers"
        dummy.mkdir()
        common = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        config = {**common, **EXPERTS, "num_hidden_layers": layers}
        (dummy / "config.json").write_text(json.dumps(config), encoding="utf-8")
        for file in folder.glob("tokenizer*"):
            (dummy / file.name).write_bytes(file.read_bytes())
        prompts = make_prompts(dummy, dummy=True)
        args = ServerArgs(model=str(dummy), device="cuda", dummy_weight=True, max_seq_len=1024)
        steps = Steps(args, prompts, 24)
        captured, fed = steps.run(None)
        steps.engine.graphs = None
        eager, _ = steps.run(fed)
        del steps
        free()
        found: dict[str, Any] = {"captured against eager": differ(captured, eager)}
        found["speed"] = bench(dummy, runs)
    found["ok"] = found["captured against eager"]["mean_in_deviations"] < 0.03
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", help="directory or GGUF file; the model that ships, if not given")
    parser.add_argument("--bench", type=Path, metavar="DIR", help="config.json and tokenizer of a dummy")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tokens", type=int, default=48, help="tokens of each answer")
    parser.add_argument("--runs", type=int, default=2, help="timed runs of each process")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument(
        "--only", nargs="+", metavar="PART", help="accuracy, accuracy-of-dummy, speed, experts"
    )
    parser.add_argument("--layers", type=int, default=48, help="layers of the model with experts")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    checks: list[tuple[str, Callable[[], dict[str, Any]]]] = [
        ("accuracy", lambda: accuracy(args.model, args.device, False, args.tokens))
    ]
    if args.bench and args.device == "cuda":
        checks += [
            ("accuracy-of-dummy", lambda: accuracy(str(args.bench), "cuda", True, args.tokens)),
            ("speed", lambda: speed(args.bench, args.runs, args.rounds)),
            ("experts", lambda: experts(args.bench, args.layers, args.runs)),
        ]
    checks = [(name, check) for name, check in checks if args.only is None or name in args.only]
    verdict: dict[str, Any] = {
        "machine": torch.cuda.get_device_name() if args.device == "cuda" else f"{platform.machine()} CPU",
        "versions": f"Python {platform.python_version()}, torch {version('torch')}",
        "model": args.model and Path(args.model).name,
    }
    for name, check in checks:
        begin = time.perf_counter()
        try:
            verdict[name] = check()
        except Exception:
            verdict[name] = {"ok": False, "error": traceback.format_exc()[-1500:]}
        verdict[name]["seconds"] = round(time.perf_counter() - begin, 1)
        print(name, "ok" if verdict[name]["ok"] else "FAILED", verdict[name]["seconds"], "s", file=sys.stderr)
        if args.out:
            args.out.write_text(json.dumps(verdict, indent=1) + "\n", encoding="utf-8")
    verdict["ok"] = all(verdict[name]["ok"] for name, _ in checks)
    text = json.dumps(verdict, indent=1)
    print(text)
    if args.out:
        args.out.write_text(text + "\n", encoding="utf-8")
    return 0 if verdict["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
