"""Right answers are never blamed, however they are cut; and what is wrong is called by its name."""

from __future__ import annotations

from typing import Literal

import pytest

from minisgl_tutor.gaps import GAPS, claims_of
from minisgl_tutor.scheduler.problems import IntegrityError, Place
from minisgl_tutor.scheduler.scheduler import Scheduler
from minisgl_tutor.trace.auditor import Auditor
from minisgl_tutor.trace.books import SIGNS, known_gap
from minisgl_tutor.trace.play import play

TEXTS = [
    "hello",
    "\u518d\u89c1\uff01",
    "a \ufffd that is meant",
    "\U0001f642 \u0928\u092e\u0938\u094d\u0924\u0947",
    "",
]


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("limit", [1, 2, 3, 7, 200])
def test_right_answers_are_not_blamed(script, byte_tokenizer, overlap: bool, limit: int) -> None:
    """A token is a byte, so most limits cut within a character."""
    script.overlap = overlap
    for place, text in enumerate(TEXTS):
        script.request(1_000 * place, text, limit=limit, stream=place % 2 == 0)
    assert play(script.recording(), byte_tokenizer).findings == []


@pytest.mark.parametrize("limit", [2, 3, 8])
def test_a_length_that_is_read_late_is_told_by_its_count(script, byte_tokenizer, limit: int) -> None:
    script.overlap = True
    script.request(0, "a long enough answer", limit=limit)
    (finding,) = play(script.recording(), byte_tokenizer, ["early-length"]).findings
    assert (finding.gap, finding.claims) == ("early-length", ("C2.70",))
    assert str(finding.note).endswith(f"at token {limit - 1} of {limit}")


def test_an_answer_of_one_token_is_right_even_so(script, byte_tokenizer) -> None:
    script.overlap = True
    script.request(0, "a long enough answer", limit=1)
    assert play(script.recording(), byte_tokenizer, ["early-length"]).findings == []


def test_what_fits_behind_a_long_prompt_is_the_limit(script, byte_tokenizer) -> None:
    """An answer that is cut as the model allows no more has what it may have."""
    script.max_seq_len = 16
    script.request(0, "a long enough answer", limit=100)
    assert play(script.recording(), byte_tokenizer).findings == []


class Falls(Scheduler):
    def _drop_late(self, req, token) -> None:
        raise KeyError(req.uid)


@pytest.mark.parametrize("gaps", [[], ["forget-first"]])
def test_a_scheduler_of_a_reader_that_fails_is_found_and_ends_the_play(script, byte_tokenizer, gaps) -> None:
    script.overlap = True
    script.request(0, "hi")
    played = play(script.recording(), byte_tokenizer, gaps, classes=[Falls])
    assert "the scheduler fails (KeyError: 0)" in str(played.findings[0].note)


FREE = Place("free")


def twice(kind: Literal["slot-twice", "page-twice"], one: Place, other: Place) -> IntegrityError:
    return IntegrityError(kind, places=(one, other), number=3, one=one.sentence, other=other.sentence)


def test_what_the_books_say_is_said_once_for_each_thing() -> None:
    auditor = Auditor(backlog_limit=4)
    (slot,) = auditor.books(twice("slot-twice", FREE, FREE))
    assert (slot.gap, slot.uid) == ("double-free", -1)
    assert "slot 3 is free twice" in str(slot.note)
    assert auditor.books(twice("slot-twice", Place("used", 1), Place("used", 2))) == []
    (page,) = auditor.books(twice("page-twice", FREE, Place("used", 5)))
    assert (page.gap, page.uid, page.claims) == ("dangling-page", 5, claims_of("dangling-page"))
    (unknown,) = auditor.books(IntegrityError("locks-miscounted", pages=[1], locks=2, due=1))
    assert (unknown.gap, unknown.claims) == ("", ())


def test_the_signs_are_of_gaps_that_the_books_show() -> None:
    assert set(SIGNS.values()) == {gap.name for gap in GAPS if gap.shown_by == "books"}
    assert known_gap(IntegrityError("reserved-miscounted", reserved=3, noted=2)) == ""
    assert IntegrityError("out-of-order", 4, uids=[4, 2]).uid == 4
