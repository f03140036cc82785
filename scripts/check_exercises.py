"""Proves of every exercise: its starter fails, each solution passes, each wrong fix fails for its own reason.

    .venv/bin/python scripts/check_exercises.py [--seed N] [--markdown]

Each file is judged exactly as ``minisgl-tutor check`` would. The exit status is 1 if one comes to
something else than it must. The tests hold the same files against fewer schedules.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import tempfile
import time
from pathlib import Path

from minisgl_tutor.exercises.catalogue import EXERCISES
from minisgl_tutor.exercises.checker import Place, check_lifecycle
from minisgl_tutor.exercises.matrix import Case, cases
from minisgl_tutor.exercises.verdict import Exit, Verdict


def told(check: str, fault: str) -> str:
    return f"{check}: {fault}" if check else "passes"


def outcome(verdict: Verdict) -> str:
    if verdict.exit is Exit.UNDECIDED:
        return verdict.lines[0]
    return told(verdict.failing[0] if verdict.failing else "", verdict.fault)


def name(case: Case) -> str:
    return f"{case.file.parent.name}/{case.file.stem}"


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    options.add_argument("--markdown", action="store_true", help="print the matrix as a table")
    given = options.parse_args()
    wrong = 0
    if given.markdown:
        print("| exercise | file | verdict |\n|---|---|---|")
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for exercise in EXERCISES:
            for case in cases(exercise):
                verdict = check_lifecycle(case.file, given.seed, Place(exercise.name, Path(folder)))
                due, got = told(case.check, case.fault), outcome(verdict)
                wrong += due != got
                if given.markdown:
                    print(f"| {exercise.name} | {name(case)} | {got} |")
                else:
                    print(f"{'ok ' if due == got else 'NOT'} {name(case)}: {got}", flush=True)
                if due != got:
                    print(f"    it must be: {due}", *verdict.lines, sep="\n    ", file=sys.stderr)
    print(f"seed {given.seed}, {time.monotonic() - begun:.0f} s", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
