"""The table of reported faults says what there is: each case once, and each file that has tests of it."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
IDS = (
    *("A1", "A2", "A3", "A5"),
    *("B1", "B3", "B4", "B5", "B7", "B8"),
    *("C1", "C2", "C3", "C4", "C6"),
    *("D1", "D2", "D3", "D4", "D6", "D7", "D9", "D10", "D11"),
    *("E1", "E2", "E3", "E5", "E6", "E8", "E9", "E10"),
    *("F1", "F2", "F3", "F5", "F7"),
    *("G1", "G2", "G4", "G6", "G7", "G8"),
)
ROW = re.compile(r"^\| ([A-G]\d+) \|(.*)\|$", re.MULTILINE)
TEST = re.compile(r"def test_case_([a-g]\d+)_")


def test_each_case_has_a_row_with_every_file_that_tests_it() -> None:
    rows = ROW.findall((ROOT / "docs" / "cases.md").read_text("utf-8"))
    assert [name for name, _ in rows] == list(IDS) and len(IDS) == 43
    listed = {name: set(re.findall(r"`(tests/[^`]*)`", rest.rpartition("|")[2])) for name, rest in rows}
    there: dict[str, set[str]] = {name: set() for name in IDS}
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        for name in TEST.findall(file.read_text("utf-8")):
            there[name.upper()].add(file.relative_to(ROOT).as_posix())
    assert listed == there
