"""The table of claims is the one that its script writes, and no row of it is empty."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from minisgl_tutor.trace.claims import read_claims

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location(
        "write_claims_table", ROOT / "scripts/write_claims_table.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_the_table_is_current(script: ModuleType) -> None:
    """What it names as tests runs with all the others."""
    assert script.TABLE.read_text("utf-8") == script.table(script.as_it_should_be), (
        "run scripts/write_claims_table.py"
    )


def test_every_claim_has_a_row_and_no_cell_is_empty(script: ModuleType) -> None:
    rows = re.findall(r"^\| ([CK]\d\.\d+) \|(.*)\|$", script.TABLE.read_text("utf-8"), re.MULTILINE)
    assert [number for number, _ in rows] == [number for each in read_claims().values() for number in each]
    assert all(len(rest.split("|")) == 4 and all(map(str.strip, rest.split("|"))) for _, rest in rows)


def test_a_test_that_did_not_pass_is_told_from_one_that_did(script: ModuleType) -> None:
    outcomes = script.Outcomes()

    def report(nodeid: str, outcome: str, when: str = "call") -> None:
        found = pytest.TestReport(nodeid, ("", 0, ""), {}, outcome, None, when)
        outcomes.pytest_runtest_logreport(found)

    report("t.py::all[1]", "passed")
    report("t.py::all[2]", "passed")
    report("t.py::one[1]", "passed")
    report("t.py::one[2]", "failed")
    report("t.py::not_run", "skipped", "setup")
    held = [outcomes.held(f"t.py::{name}") for name in ("all", "one", "one[1]", "not_run", "unknown")]
    assert held == [True, False, True, False, False]
