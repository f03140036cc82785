"""The list of claims is whole: every number, of its kind, and each shown somehow."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from minisgl_tutor.gaps import GAPS, Gap
from minisgl_tutor.resources import chapters_dir
from minisgl_tutor.trace.claims import Claim, UnknownClaim, claim, read_claims

ROOT = Path(__file__).parents[2]
CLAIMS = {number: each for family in read_claims().values() for number, each in family.items()}
NUMBERED = {"C5": 189, "K5": 72, "C2": 117}
KINDS = {"behaviour": 137, "limitation": 20, "concept": 110, "structure": 100, "gap": 11}


@cache
def functions(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    return frozenset(
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def test_every_number_is_there_once() -> None:
    expected = {f"{text}.{number}" for text, count in NUMBERED.items() for number in range(1, count + 1)}
    assert set(CLAIMS) == expected
    assert sum(len(family) for family in read_claims().values()) == len(expected)


def test_as_many_of_each_kind_as_the_chapters_have() -> None:
    assert Counter(each.kind for each in CLAIMS.values()) == KINDS


@pytest.mark.parametrize("number", CLAIMS)
def test_each_is_worded_and_shown(number: str) -> None:
    each = CLAIMS[number]
    assert each.says and each.says[0].isupper() and each.says.endswith(".")
    assert each.scene or each.code or each.tests or each.exercise or each.about
    assert bool(each.scene) == bool(each.steps or each.never)
    assert not each.gaps or each.scene
    assert set(each.gaps) <= {gap.name for gap in GAPS}
    assert each.note.endswith(".") or not each.note


@pytest.mark.parametrize("number", [number for number, each in CLAIMS.items() if each.tests])
def test_its_tests_are_there(number: str) -> None:
    for node in CLAIMS[number].tests:
        file, _, name = node.partition("::")
        assert name in functions(file), node


@pytest.mark.parametrize("number", [number for number, each in CLAIMS.items() if each.exercise])
def test_its_exercise_is_there(number: str) -> None:
    chapter, name = CLAIMS[number].exercise.split("/")
    assert list(chapters_dir().glob(f"{int(chapter):02d}-*/exercises/{name}/exercise.toml"))


def shown_by_what_runs(each: Claim) -> bool:
    return bool(each.scene or each.code or each.tests)


def test_what_can_be_run_is_run() -> None:
    """An exercise alone, or nothing, is enough only for an idea to teach or a remark on the texts."""
    not_run = [number for number, each in CLAIMS.items() if not shown_by_what_runs(each)]
    assert {CLAIMS[number].kind for number in not_run} <= {"concept", "structure", "limitation"}
    assert all(CLAIMS[number].about for number in not_run if CLAIMS[number].kind != "concept")


def test_behaviour_is_run_and_a_gap_is_switched_on() -> None:
    for number, each in CLAIMS.items():
        assert each.kind != "behaviour" or each.scene or each.tests, number
        assert each.kind != "gap" or each.gaps, number


@pytest.mark.parametrize("gap", GAPS, ids=lambda gap: gap.name)
def test_the_claims_of_a_gap_speak_of_it(gap: Gap) -> None:
    for number in gap.claims:
        assert gap.name in CLAIMS[number].gaps or gap.name in CLAIMS[number].note, number


def test_an_unknown_number_names_those_there_are() -> None:
    with pytest.raises(UnknownClaim, match=r"'C5\.190'; they are C5\.1 to C5\.189"):
        claim("C5.190")
