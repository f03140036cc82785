"""The scheduler's gaps under seeded schedules: the books find them, and so do the tokens that others get.

The hashing engine makes every token of exactly the pages and slots that its row reads, so
a page or slot that two use shows as a wrong answer to one of them.
"""

from __future__ import annotations

import importlib.util
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from minisgl_tutor.gaps import with_gaps
from minisgl_tutor.gaps.early_length import EarlyLength
from minisgl_tutor.scheduler.problems import IntegrityError
from minisgl_tutor.scheduler.scheduler import Scheduler
from minisgl_tutor.trace.books import known_gap

FUZZ = Path(__file__).parents[2] / "scripts" / "fuzz_scheduler.py"
FOUND_BY_BOOKS = {
    "double-free": 36,
    "freed-and-cached": 36,
    "dangling-page": 2,
    "early-slot": 0,
    "unordered-running": 0,
}
FOUND_BY_TOKENS = {
    "double-free": 96,
    "freed-and-cached": 36,
    "dangling-page": 2,
    "early-slot": 46,
    "early-length": 0,
}
"""A seed whose schedule meets the gap."""


@pytest.fixture(scope="module")
def fuzz() -> Iterator[ModuleType]:
    """The script that plays random schedules."""
    spec = importlib.util.spec_from_file_location("fuzz_scheduler_for_gaps", FUZZ)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    logger = logging.getLogger("minisgl_tutor.scheduler.scheduler")
    logger.setLevel(logging.CRITICAL)
    yield module
    logger.setLevel(logging.NOTSET)
    del sys.modules[spec.name]


@pytest.mark.parametrize("name", FOUND_BY_BOOKS)
def test_the_books_name_the_gap(fuzz: ModuleType, name: str) -> None:
    with pytest.raises(IntegrityError) as found:
        fuzz.Fuzz(FOUND_BY_BOOKS[name], with_gaps(Scheduler, [name])).play()
    assert known_gap(found.value) == name


@pytest.mark.parametrize("name", FOUND_BY_TOKENS)
def test_somebody_gets_a_wrong_answer(fuzz: ModuleType, name: str) -> None:
    schedule = fuzz.Fuzz(FOUND_BY_TOKENS[name], with_gaps(Scheduler, [name]), check_books=False)
    with pytest.raises(fuzz.Wrong, match=r"^(token \d+ of|ended before)"):
        schedule.play()


@pytest.mark.parametrize("seed", sorted({*FOUND_BY_BOOKS.values(), *FOUND_BY_TOKENS.values()}))
def test_without_it_all_is_right(fuzz: ModuleType, seed: int) -> None:
    fuzz.Fuzz(seed).play()


def test_an_order_alone_makes_no_answer_wrong(fuzz: ModuleType) -> None:
    fuzz.Fuzz(0, with_gaps(Scheduler, ["unordered-running"]), check_books=False).play()


class WithoutOverlap(EarlyLength):
    def round(self) -> None:
        self.normal_loop()


def test_without_overlap_no_answer_ends_early(fuzz: ModuleType) -> None:
    """The next launch comes only after the token has been looked at."""
    fuzz.Fuzz(FOUND_BY_TOKENS["early-length"], WithoutOverlap).play()
