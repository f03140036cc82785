#!/usr/bin/env python3
"""Writes docs/claims.md: every statement of the chapters, how it is shown, and what came of it.

All that shows one is run: scenes, looks at the code, tests. If anything fails, nothing is written.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from minisgl_tutor.trace.claims import Claim, read_claims

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "docs" / "claims.md"
SCENES = "tests/claims/test_scenes.py::test_a_scene_shows_it"
CODE = "tests/claims/test_code.py::test_the_code_shows_it"

HEAD = """\
# Every claim, and how it is shown

What the chapters state of the system, in our own words, and what shows that it is so here: a scene, which
`minisgl-tutor trace --claim C5.16` plays from the step that shows it; the code, where something is in its
place and does what is said; tests; an exercise. A statement that is true of the reference and not of this
server is shown with its gap switched on, and says so. `scripts/write_claims_table.py` runs everything that
is named here and writes this table; the rows are in `chapters/claims`.

"""

SHORT = {"behaviour": "behaviour", "structure": "structure", "gap": "**gap**", "limitation": "limitation"}


def nodes_of(number: str, claim: Claim) -> list[str]:
    """The tests that show a claim; of a test with parameters any may be meant but for those of the rows."""
    nodes = list(claim.tests)
    nodes += [f"{SCENES}[{number}]"] if claim.scene else []
    return nodes + ([f"{CODE}[{number}]"] if claim.code else [])


def table(result: Callable[[str, Claim], str]) -> str:
    """The document; ``result`` says what came of a claim."""
    lines = [HEAD + counts()]
    for family, claims in read_claims().items():
        lines += [f"## {family.replace('-', ' ').capitalize()}", ""]
        lines += ["| claim | kind | what it says | shown by | result |", "|---|---|---|---|---|"]
        for number, claim in claims.items():
            says = claim.says + (f" *{claim.note}*" if claim.note else "")
            kind = SHORT.get(claim.kind, claim.kind)
            cells = (number, kind, says, shown_by(number, claim), result(number, claim))
            lines.append(f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |")
        lines.append("")
    return "\n".join(lines)


def counts() -> str:
    claims = [claim for family in read_claims().values() for claim in family.values()]
    ways = {
        "scenes": sum(bool(claim.scene) for claim in claims),
        "tests": sum(bool(claim.tests) for claim in claims),
        "the code": sum(bool(claim.code) for claim in claims),
        "exercises": sum(bool(claim.exercise) for claim in claims),
    }
    listed = ", ".join(f"{count} by {way}" for way, count in ways.items())
    alone = sum(not runs(claim) and not claim.exercise for claim in claims)
    return f"{len(claims)} claims: {listed}, some by several; {alone} are remarks on the texts alone.\n"


def shown_by(number: str, claim: Claim) -> str:
    ways = []
    if claim.scene:
        gaps = f" with {', '.join(claim.gaps)}" if claim.gaps else ""
        ways.append(f"scene {claim.scene}{gaps}: `trace --claim {number}`")
    ways += [f"`{place.at}`" for place in claim.code]
    ways += [f"`{node}`" for node in claim.tests]
    if claim.exercise:
        chapter, _, name = claim.exercise.partition("/")
        ways.append(f"exercise {name} of chapter {chapter}")
    return "<br>".join([*ways, *([claim.about] if claim.about else [])])


def runs(claim: Claim) -> bool:
    return bool(claim.scene or claim.code or claim.tests)


def as_it_should_be(number: str, claim: Claim) -> str:
    """What comes of a claim if all that shows it passes."""
    if not runs(claim):
        return "judged by its checks" if claim.exercise else "nothing to run"
    return "holds with the gap" if claim.gaps else "holds"


class Outcomes:
    """Notes which tests passed, by their function."""

    def __init__(self) -> None:
        self.passed: set[str] = set()
        self.not_passed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        names = {report.nodeid, report.nodeid.partition("[")[0]}
        if report.when == "call" and report.passed:
            self.passed |= names
        elif not report.passed:
            self.not_passed |= names

    def held(self, node: str) -> bool:
        return node in self.passed and node not in self.not_passed


def main() -> None:
    claims = {number: claim for family in read_claims().values() for number, claim in family.items()}
    nodes = sorted({node for claim in claims.values() for node in claim.tests})
    outcomes = Outcomes()
    files = [SCENES.partition("::")[0], CODE.partition("::")[0]]
    pytest.main(["-q", "--rootdir", str(ROOT), *files, *nodes], plugins=[outcomes])
    failed = [
        (number, node)
        for number, claim in claims.items()
        for node in nodes_of(number, claim)
        if not outcomes.held(node)
    ]
    for number, node in failed:
        print(f"{number}: {node} did not pass", file=sys.stderr)
    if failed:
        raise SystemExit(1)
    TABLE.write_text(table(as_it_should_be), encoding="utf-8")


if __name__ == "__main__":
    main()
