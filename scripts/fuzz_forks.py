#!/usr/bin/env python3
"""Fork the scenes at random steps in random ways, and check what a fork promises.

    scripts/fuzz_forks.py --forks 200 --seed 0

For each scene, with the reference's gaps and without any, and each fork: its play
ends; up to the fork's step it moves the same at the same times; written, read and
played again it gives the same bytes; and without gaps, unless a message was lost
or came in another order, nothing is left behind.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from minisgl_tutor.recording import Action, Recording, read_recording
from minisgl_tutor.resources import chapters_dir, model_dir
from minisgl_tutor.tokenizer.load import load_tokenizer
from minisgl_tutor.trace.fork import forked, under_gaps
from minisgl_tutor.trace.interventions import sort_of
from minisgl_tutor.trace.play import Play, play
from minisgl_tutor.trace.steps import Step, encoded

TOKENIZER = load_tokenizer(model_dir())
ON_REQUESTS: tuple[Action, ...] = ("disconnect", "slow", "abort")
ON_MESSAGES: tuple[Action, ...] = ("drop", "delay", "reorder")
HARMLESS = (*ON_REQUESTS, "delay")
US = (1, 1_000, 50_000, 400_000)


def perform(recording: Recording) -> Play:
    return play(recording, TOKENIZER, recording.header.gaps)


def moves(steps: list[Step]) -> list[object]:
    return [(step.kind, sort_of(step), step.t_us, step.content) for step in steps]


def problem(recording: Recording, base: Play, choice: random.Random, folder: Path) -> tuple[str, str]:
    """Which action was tried, and what is wrong with its fork; empty if nothing is."""
    number = choice.randint(1, len(base.steps))
    may = ON_REQUESTS + (ON_MESSAGES if base.steps[number - 1].kind == "message" else ())
    action, rid, us = choice.choice(may), choice.choice(sorted(base.exchanges)), choice.choice(US)
    said = f"step {number}, {action} (request {rid}, {us} us)"
    fork = forked(recording, base.steps, number, action, rid, us)
    try:
        result = perform(fork)
    except Exception as error:
        return action, f"{said}: {type(error).__name__}: {error}"
    fork.write(folder / "fork.jsonl")
    again = perform(read_recording(folder / "fork.jsonl"))
    if moves(result.steps[:number]) != moves(base.steps[:number]):
        return action, f"{said}: something before it is otherwise"
    if encoded(result.steps) != encoded(again.steps):
        return action, f"{said}: saved and played again it is otherwise"
    if not recording.header.gaps and action in HARMLESS and (result.findings or any(result.held.values())):
        return action, f"{said}: left behind: {result.findings or result.held}"
    return action, ""


def main() -> str | None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--forks", type=int, default=20, help="of each scene under each set of gaps")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    logging.disable()
    choice, tried, wrong, begin = random.Random(args.seed), Counter[str](), 0, time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(chapters_dir().glob("*/scenes/*.jsonl")):
            for gaps in ([], ["reference"]):
                recording = under_gaps(read_recording(path), gaps)
                base = perform(recording)
                for _ in range(args.forks):
                    action, sentence = problem(recording, base, choice, Path(folder))
                    tried[action] += 1
                    if sentence:
                        wrong += 1
                        print(f"{path.name}, gaps {gaps}: {sentence}")
    counts = ", ".join(f"{action} {count}" for action, count in sorted(tried.items()))
    print(f"{tried.total()} forks ({counts}), {wrong} wrong, {time.monotonic() - begin:.0f} s")
    return "some forks are not what they promise" if wrong else None


if __name__ == "__main__":
    sys.exit(main())
