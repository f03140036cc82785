"""Is the GPU engine right? Prints a verdict as JSON; the exit status is 0 if everything holds.

    python benchmarks/gpu_check.py [--requests 2000] [--out FILE]

Needs a GPU and transformers. What is checked, each by its own function:

* families: scores of small float32 models of each family, prefill and captured decode, against transformers
* flashinfer: the same in bfloat16 with its prefill and decode, within rounding
* shipped_model: greedy text of the shipped model on GPU and CPU
* invariance: page size, chunked prefill, radix cache, graphs, overlap and attention change no token
* sampling: frequencies follow the softmax, and a seeded draw does not depend on its neighbours
* asked_sampling: penalties, biases, min-p and logprobs are the CPU's, with graphs and without
* random_requests: requests that come, share beginnings and are aborted at random, and the books after them
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from minisgl_tutor.engine.base import ForwardBatch, SamplingBatch, TableUpdate
from minisgl_tutor.engine.gumbel import draw
from minisgl_tutor.llm import LLM, Generation
from minisgl_tutor.message import AbortBackendMsg, DetokenizeMsg, SamplingParams, UserMsg
from minisgl_tutor.models.resolve import resolve_model
from minisgl_tutor.resources import model_dir
from minisgl_tutor.server.config import SchedulerConfig
from minisgl_tutor.tokenizer.load import load_tokenizer

BOUND = 2e-4
"""The largest difference of a float32 score from transformers' that counts as the same."""

BF16_BOUND = 0.03
"""The same in bfloat16: the largest mean difference, as a part of the scores' standard deviation."""

BF16_ROUNDING = 2**-7
"""One step of bfloat16, at most, as a part of the value."""

VOCAB = 512
SHAPE = {
    "vocab_size": VOCAB,
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 1024,
    "bos_token_id": None,
    "eos_token_id": None,
    "initializer_range": 0.1,
}
LLAMA3_ROPE = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
EXPERTS = {"num_experts": 16, "num_experts_per_tok": 4, "moe_intermediate_size": 96, "norm_topk_prob": True}
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("llama", {"tie_word_embeddings": True}),
    "llama3 rope": ("llama", {"rope_parameters": LLAMA3_ROPE}),
    "qwen2": ("qwen2", {"num_attention_heads": 10, "hidden_size": 320}),
    "qwen3": ("qwen3", {"head_dim": 128}),
    "mistral": ("mistral", {"head_dim": 64, "sliding_window": None}),
    "qwen3 experts": ("qwen3_moe", {"head_dim": 64, **EXPERTS}),
}

PROMPTS = [
    "What does the scheduler do?",
    "Hello",
    "How does a token reach the client?",
    "What is a page in the KV cache?",
    "Tell me about the radix cache.",
    "Why is the sky blue?",
    "max_tokens",
    "When the client disconnects,",
]


def make_model(name: str, folder: Path) -> Any:
    """A small random model of a family, saved; transformers' model of the same weights in float32."""
    import transformers

    kind, extra = FAMILIES[name]
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(kind, **{**SHAPE, **extra})
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    model.save_pretrained(folder)
    for file in ("tokenizer.json", "tokenizer_config.json"):
        (folder / file).write_bytes((model_dir() / file).read_bytes())
    return model


def load(folder: Path | None, **options: Any) -> LLM:
    scheduler = SchedulerConfig(
        prefill_budget=options.pop("budget", 2048),
        cache=options.pop("cache", "radix"),
        overlap=options.pop("overlap", True),
        head_room=options.pop("head_room", 64),
        seed=0,
    )
    chosen = {"device": "cuda", "dtype": "float32", "max_seq_len": 512, "num_pages": 40_000 // 16}
    chosen |= {"cuda_graph_max_bs": 32} | options
    return LLM(None if folder is None else str(folder), scheduler=scheduler, **chosen)


def families() -> dict[str, Any]:
    found = {}
    for name in FAMILIES:
        with tempfile.TemporaryDirectory() as directory:
            peer = make_model(name, Path(directory))
            for page_size in (1, 16, 64):
                llm = load(Path(directory), page_size=page_size, num_pages=4096 // page_size)
                errors = score_errors(llm, peer, page_size)
                greedy = greedy_agrees(llm, peer)
                found[f"{name}, page {page_size}"] = {**errors, "greedy_tokens_equal": greedy}
                del llm
                torch.cuda.empty_cache()
    worst = max(max(row["prefill"], row["decode"]) for row in found.values())
    ok = worst < BOUND and all(row["greedy_tokens_equal"] for row in found.values())
    return {"ok": ok, "bound": BOUND, "largest_difference": worst, "by_family": found}


def flashinfer() -> dict[str, Any]:
    """Its kernels compute in 16 bits: as near to float32 as PyTorch's attention is in bfloat16, or nearly."""
    found = {}
    with tempfile.TemporaryDirectory() as directory:
        peer = make_model("qwen3", Path(directory))
        for attn in ("sdpa,triton", "fi,triton", "fi,fi"):
            for page_size in (1, 16, 64):
                options = {"attn": attn, "page_size": page_size, "num_pages": 4096 // page_size}
                llm = load(Path(directory), dtype="bfloat16", **options)
                found[f"{attn}, page {page_size}"] = score_errors(llm, peer, page_size)
                del llm
                torch.cuda.empty_cache()
    worst = max(row["spread"] for row in found.values())
    return {"ok": worst < BF16_BOUND, "bound": BF16_BOUND, "largest_spread": worst, "by_attention": found}


def score_errors(llm: LLM, peer: Any, page_size: int) -> dict[str, float]:
    """Differences of scores: three ragged prompts prefilled at once, then decode fed with known tokens.

    ``spread`` is the mean difference as a part of the scores' standard deviation.
    """
    engine = llm.offline.scheduler.engine
    lengths, steps = [5, 64, 131], 6
    draws = np.random.default_rng(7)
    texts = [draws.integers(0, VOCAB, length + steps).astype(np.int32) for length in lengths]
    with torch.inference_mode():
        expected = [peer(torch.tensor(text[None].astype(np.int64))).logits[0] for text in texts]
    slots = np.array([3, 0, 7], np.int32)
    counts = [-(-len(text) // page_size) for text in texts]
    starts = np.cumsum([0, *counts])
    pages = [range(start, start + count) for start, count in zip(starts, counts, strict=False)]
    update = TableUpdate(
        np.repeat(slots, [len(row) for row in pages]).astype(np.int32),
        np.concatenate([np.arange(len(row)) for row in pages]).astype(np.int32),
        np.concatenate([np.array(row) for row in pages]).astype(np.int32),
    )
    prompt = np.concatenate([text[:length] for text, length in zip(texts, lengths, strict=True)])
    cached, lens = np.zeros(3, np.int32), np.array(lengths, np.int32)
    found = engine.logits(batch("prefill", slots, cached, lens, prompt, update)).cpu()
    pairs = [(found[row].float(), expected[row][length - 1]) for row, length in enumerate(lengths)]
    prefill = max(float((one - other).abs().max()) for one, other in pairs)
    none = TableUpdate(*(np.empty(0, np.int32) for _ in range(3)))
    decode = 0.0
    for step in range(steps):
        for row, length in enumerate(lengths):
            with torch.inference_mode():
                engine.token_pool[int(slots[row]), length + step] = int(texts[row][length + step])
        now = lens + step
        with torch.inference_mode():
            replayed = engine.graphs.replay(batch("decode", slots, now, now + 1, np.empty(0, np.int32), none))
        for row, length in enumerate(lengths):
            pairs.append((replayed[0][row].float().cpu(), expected[row][length + step]))
            decode = max(decode, float((pairs[-1][0] - pairs[-1][1]).abs().max()))
    spread = max(float((one - other).abs().mean() / other.std()) for one, other in pairs)
    return {"prefill": prefill, "decode": decode, "spread": spread}


def batch(
    phase: Any, slots: np.ndarray, cached: np.ndarray, lens: np.ndarray, ids: np.ndarray, update: TableUpdate
) -> ForwardBatch:
    rows = len(slots)
    greedy = SamplingBatch(
        np.zeros(rows, np.float32),
        np.full(rows, -1, np.int32),
        np.ones(rows, np.float32),
        np.zeros(rows, np.uint64),
        lens.astype(np.int64),
    )
    emits = np.ones(rows, bool)
    return ForwardBatch(
        phase,
        list(range(rows)),
        slots,
        cached.astype(np.int32),
        lens.astype(np.int32),
        ids,
        update,
        emits,
        greedy,
    )


def greedy_agrees(llm: LLM, peer: Any) -> bool:
    draws = random.Random(3)
    prompts = [[draws.randrange(VOCAB) for _ in range(length)] for length in (3, 40, 17, 90)]
    answers = llm.generate(prompts, SamplingParams(max_tokens=24, ignore_eos=True))
    for prompt, answer in zip(prompts, answers, strict=True):
        ids = torch.tensor([prompt])
        with torch.inference_mode():
            expected = peer.generate(
                ids, attention_mask=torch.ones_like(ids), max_new_tokens=24, do_sample=False
            )
        if answer.token_ids != expected[0, len(prompt) :].tolist():
            return False
    return True


def shipped_model() -> dict[str, Any]:
    """In float32 the text must be equal; in bfloat16 rounding may decide between near-equal scores."""
    found: dict[str, Any] = {}
    params = SamplingParams(max_tokens=64)
    judge = load(None, device="cpu")
    prompts = [judge.tokenizer.encode(text) for text in PROMPTS]
    for dtype in ("float32", "bfloat16"):
        gpu = load(None, dtype=dtype).generate(prompts, params)
        cpu = load(None, dtype=dtype, device="cpu").generate(prompts, params)
        differences = []
        for prompt, one, other in zip(prompts, gpu, cpu, strict=True):
            if one.token_ids != other.token_ids:
                differences.append(difference(judge, prompt, one.token_ids, other.token_ids))
        found[dtype] = {
            "equal": len(prompts) - len(differences),
            "of": len(prompts),
            "differences": differences,
        }
    ties = all(row["margin"] <= row["rounding"] for row in found["bfloat16"]["differences"])
    found["ok"] = found["float32"]["equal"] == len(PROMPTS) and ties
    return found


def difference(judge: LLM, prompt: list[int], one: list[int], other: list[int]) -> dict[str, Any]:
    """Where two answers part, and how far apart the two tokens' scores are there in float32.

    ``rounding`` is a step of bfloat16 at scores of that size: a tie is not further apart.
    """
    at = next(i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    ids = np.array(prompt + one[:at], np.int32)
    pages = np.arange(-(-len(ids) // judge.offline.scheduler.engine.info.page_size), dtype=np.int32)
    update = TableUpdate(np.zeros_like(pages), pages, pages)
    slot, zero = np.zeros(1, np.int32), np.zeros(1, np.int32)
    scores = judge.offline.scheduler.engine.logits(
        batch("prefill", slot, zero, np.array([len(ids)], np.int32), ids, update)
    )[0]
    pair = scores[[one[at], other[at]]].tolist()
    return {
        "prompt": judge.tokenizer.decode(prompt),
        "at_token": at,
        "margin": abs(pair[0] - pair[1]),
        "rounding": max(map(abs, pair)) * BF16_ROUNDING,
    }


def invariance() -> dict[str, Any]:
    """The same prompts under every setting, float32 (and bfloat16 for FlashInfer, which has no other)."""
    tokenizer = load_tokenizer(resolve_model(None))
    texts = [text * (1 + i % 3) for i, text in enumerate(PROMPTS)] + [
        PROMPTS[0] + " " + text for text in PROMPTS
    ]
    prompts = [tokenizer.encode(text) for text in texts]
    params = [
        SamplingParams(
            max_tokens=40, ignore_eos=True, temperature=(i % 3) * 0.5, seed=i, top_p=1 - (i % 2) * 0.2
        )
        for i in range(len(prompts))
    ]
    settings: dict[str, dict[str, Any]] = {
        "as it is": {},
        "no graphs": {"cuda_graph_max_bs": 0},
        "small graphs": {"cuda_graph_max_bs": 4},
        "no overlap": {"overlap": False},
        "chunks of 7": {"budget": 7},
        "no prefix cache": {"cache": "naive"},
        "page 1": {"page_size": 1, "num_pages": 40_000},
        "page 64": {"page_size": 64, "num_pages": 600},
        "page 256": {"page_size": 256, "num_pages": 150},
        "4 at once": {"max_running_req": 4},
        "prefill without graphs": {"attn": "sdpa,triton"},
        "sdpa": {"attn": "sdpa"},
    }
    expected: list[list[int]] = []
    found = {}
    for name, options in settings.items():
        llm = load(None, **options)
        tokens = [answer.token_ids for answer in llm.generate(prompts, params)]
        again = [answer.token_ids for answer in llm.generate(prompts, params)]  # the prefix cache is warm now
        llm.offline.scheduler.check_integrity()
        expected = expected or tokens
        found[name] = tokens == expected and again == expected
        del llm
        torch.cuda.empty_cache()
    return {"ok": all(found.values()), "tokens": sum(map(len, expected)), "same_tokens": found}


def sampling() -> dict[str, Any]:
    rows = 200_000
    probs = torch.tensor([0.4, 0.3, 0.2, 0.05, 0.03, 0.02, 0.0], device="cuda")
    scores = (probs.log() * 0.7).repeat(rows, 1)
    temperatures = torch.full((rows,), 0.7, device="cuda")
    seeds = torch.randint(-(2**63), 2**63 - 1, (rows,), device="cuda")
    positions = torch.arange(rows, device="cuda") % 1000
    tokens, some = (torch.empty(count, dtype=torch.int32, device="cuda") for count in (rows, 10))
    draw(scores, temperatures, seeds, positions, tokens)
    off = (torch.bincount(tokens.long(), minlength=7) / rows - probs).abs().max().item()
    chosen = slice(rows - 20, rows - 10)
    draw(scores[chosen].contiguous(), temperatures[:10], seeds[chosen], positions[chosen], some)
    alone = torch.equal(some, tokens[chosen])
    wide = torch.randn(64, 151_936, device="cuda", dtype=torch.bfloat16)
    zeros, best = torch.zeros(64, device="cuda"), torch.empty(64, dtype=torch.int32, device="cuda")
    draw(wide, zeros, seeds[:64], positions[:64], best)
    greedy = torch.equal(best.long(), wide.float().argmax(-1))
    return {
        "ok": off < 0.005 and alone and greedy,
        "largest_frequency_error": off,
        "independent": alone,
        "greedy": greedy,
    }


def asked_sampling() -> dict[str, Any]:
    """Rows that ask for more than a temperature, beside others. Greedy ones must have the CPU's tokens.

    Logprobs may differ by rounding. A token that min-p allows is by its own logprob
    no further below the likeliest than min-p says.
    """
    min_p, draws = 0.1, random.Random(9)
    wanted: list[dict[str, Any]] = [
        {"frequency_penalty": 1.5, "logprobs": 5},
        {"presence_penalty": 2.0, "logprobs": 0},
        {"presence_penalty": -1.0, "frequency_penalty": 0.25, "logprobs": 20},
        {"logit_bias": {3: 4.5, 500: 5.0}, "presence_penalty": 1.0},
        {},
        {"temperature": 1.0},
        {"temperature": 1.0, "min_p": min_p, "logprobs": 1},
        {"temperature": 0.8, "frequency_penalty": 0.5, "top_p": 0.9, "logprobs": 2},
    ]
    prompts = [[draws.randrange(VOCAB) for _ in range(draws.randint(5, 60))] for _ in range(32)]
    params = [
        SamplingParams(max_tokens=48, ignore_eos=True, seed=row, **wanted[row % len(wanted)])
        for row in range(len(prompts))
    ]
    settings: dict[str, dict[str, Any]] = {
        "as it is": {},
        "no graphs": {"cuda_graph_max_bs": 0},
        "no overlap": {"overlap": False},
        "chunks of 7": {"budget": 7},
        "retraction": {"page_size": 1, "num_pages": 600, "cache": "naive", "head_room": 1},
    }
    found, expected, largest, below = {}, None, 0.0, 0.0
    with tempfile.TemporaryDirectory() as directory:
        make_model("qwen3", Path(directory))
        cpu = load(Path(directory), device="cpu").generate(prompts, params)
        for name, options in settings.items():
            llm = load(Path(directory), **options)
            answers = llm.generate(prompts, params)
            tokens = [answer.token_ids for answer in answers]
            expected = expected or tokens
            same = tokens == expected
            for one, other, own in zip(answers, cpu, params, strict=True):
                same &= len(one.logprobs) == (0 if own.logprobs is None else len(one.token_ids))
                if own.temperature == 0:
                    same &= one.token_ids == other.token_ids
                    largest = max([largest, *logprob_differences(one, other)])
                elif own.min_p:
                    gaps = [entry.top[0].logprob - entry.chosen.logprob for entry in one.logprobs]
                    below = max([below, *gaps])
            found[name] = same
            del llm
            torch.cuda.empty_cache()
    ok = all(found.values()) and largest < BOUND and below <= -math.log(min_p) + BOUND
    return {"ok": ok, "same_tokens": found, "largest_logprob_difference": largest, "furthest_below": below}


def logprob_differences(one: Generation, other: Generation) -> list[float]:
    """Between what two runs say of the same tokens: of the chosen ones, and of the likeliest by rank."""
    return [
        abs(a.logprob - b.logprob)
        for mine, theirs in zip(one.logprobs, other.logprobs, strict=True)
        for a, b in zip([mine.chosen, *mine.top], [theirs.chosen, *theirs.top], strict=True)
    ]


def random_requests(count: int) -> dict[str, Any]:
    """Requests with shared beginnings come and go; what is not aborted must be as if it were alone."""
    with tempfile.TemporaryDirectory() as directory:
        make_model("qwen3", Path(directory))
        draws = random.Random(5)
        stems = [[draws.randrange(VOCAB) for _ in range(80)] for _ in range(6)]
        prompts, params = [], []
        for uid in range(count):
            stem = draws.choice(stems)[: draws.randrange(0, 80)]
            prompts.append(stem + [draws.randrange(VOCAB) for _ in range(draws.randint(1, 40))])
            wanted = draws.choice([1, 2, 5, 20, 60])
            temperature = draws.choice([0.0, 0.0, 0.8])
            params.append(
                SamplingParams(ignore_eos=True, max_tokens=wanted, temperature=temperature, seed=uid)
            )
        calm = load(Path(directory), overlap=False, cache="naive", max_running_req=64, cuda_graph_max_bs=64)
        expected = [answer.token_ids for answer in calm.generate(prompts, params)]
        del calm
        llm = load(Path(directory), page_size=4, num_pages=900, max_running_req=24, budget=100)
        return play(llm, prompts, params, expected, draws)


def play(
    llm: LLM,
    prompts: list[list[int]],
    params: list[SamplingParams],
    expected: list[list[int]],
    draws: random.Random,
) -> dict[str, Any]:
    scheduler, requests, replies = llm.offline.scheduler, llm.offline.to_scheduler, llm.offline.answers
    tokens: dict[int, list[int]] = {uid: [] for uid in range(len(prompts))}
    ended: dict[int, str] = {}
    coming, aborted, wrong, checks, rounds = 0, set[int](), 0, 0, 0
    while len(ended) < len(prompts):
        for _ in range(draws.choice([0, 0, 1, 1, 2, 8])):
            if coming < len(prompts):
                requests.put(UserMsg(coming, prompts[coming], params[coming]))
                coming += 1
        if coming and draws.random() < 0.1:
            uid = draws.randrange(max(0, coming - 30), coming)
            aborted.add(uid)
            requests.put(AbortBackendMsg(uid))
        scheduler.round()
        rounds += 1
        for msg in replies.drain(blocking=False):
            assert isinstance(msg, DetokenizeMsg), msg
            assert msg.uid not in ended, f"{msg.uid} has ended already"
            if msg.next_token is not None:
                tokens[msg.uid].append(msg.next_token)
            if msg.finished:
                ended[msg.uid] = str(msg.finish_reason)
        if rounds % 50 == 0:
            scheduler.check_integrity()
            checks += 1
    while scheduler.busy:
        scheduler.round()
    scheduler.check_integrity()
    for uid, found in tokens.items():
        right = expected[uid] if ended[uid] == "length" else expected[uid][: len(found)]
        wrong += found != right
    return {
        "ok": wrong == 0 and not scheduler.held(),
        "requests": len(prompts),
        "aborted": sum(reason == "abort" for reason in ended.values()),
        "wrong": wrong,
        "rounds": rounds,
        "integrity_checks": checks + 1,
    }


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    checks: list[tuple[str, Callable[[], dict[str, Any]]]] = [
        ("sampling", sampling),
        ("asked_sampling", asked_sampling),
        ("families", families),
        ("flashinfer", flashinfer),
        ("shipped_model", shipped_model),
        ("invariance", invariance),
        ("random_requests", lambda: random_requests(args.requests)),
    ]
    verdict: dict[str, Any] = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__}
    for name, check in checks:
        begin = time.perf_counter()
        try:
            verdict[name] = check()
        except Exception:
            verdict[name] = {"ok": False, "error": traceback.format_exc()[-1500:]}
        verdict[name]["seconds"] = round(time.perf_counter() - begin, 1)
        print(name, "ok" if verdict[name]["ok"] else "FAILED", verdict[name]["seconds"], "s", flush=True)
    verdict["ok"] = all(verdict[name]["ok"] for name, _ in checks)
    text = json.dumps(verdict, indent=1)
    print(text)
    if args.out:
        args.out.write_text(text + "\n", encoding="utf-8")
    return 0 if verdict["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
