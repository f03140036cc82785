"""The live audit: states, ends, since when, and what counts as residue."""

from __future__ import annotations

import pytest

from minisgl_tutor.message import AbortMsg, ErrorReply, SamplingParams, TokenizeMsg, UserReply
from minisgl_tutor.server.operations.audit import (
    LONGEST_LIST,
    Audit,
    HttpRequest,
    Look,
    Report,
    RequestHeld,
)

FRONT, WORKER = "api", "scheduler"


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Watched:
    """An audit whose requests are begun and looked at by hand."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.audit = Audit(self.clock)

    def begin(self, uid: int = 0) -> HttpRequest:
        exchange = HttpRequest()
        self.audit.sent("out", TokenizeMsg(uid, "x", SamplingParams()))
        self.audit.belongs(uid, exchange)
        return exchange

    def reply(self, *, finished: bool) -> None:
        self.audit.received("in", [UserReply(0, "a", finished)])

    def look(self, at: float, *uids: int) -> Report:
        """What is said at that time, if a worker then has a page for each."""
        self.clock.now = at
        self.audit.look({WORKER: Look(at, {uid: {"pages": 1} for uid in uids})})
        return self.audit.report("m")

    def first(self, at: float) -> RequestHeld:
        return self.look(at, 0).requests[0]


@pytest.fixture
def it() -> Watched:
    return Watched()


def test_a_request_waits_runs_is_answered_and_ends_with_its_exchange(it: Watched) -> None:
    exchange = it.begin()
    assert it.first(1).state == "waiting"
    it.reply(finished=False)
    assert it.first(2).state == "running"
    it.reply(finished=True)
    answered = it.first(60)  # the client reads slowly, which is its right
    assert (answered.state, answered.residue, answered.ended_s) == ("answered", False, None)
    it.audit.over(exchange)
    ended = it.first(61)
    assert (ended.state, ended.age_s, ended.ended_s) == ("ended", 61, 1)


def test_what_an_ended_request_still_has_after_a_second_is_residue(it: Watched) -> None:
    it.audit.over(it.begin())
    assert it.look(1.0, 0).residue_requests == 0
    found = it.look(1.1, 0)
    assert (found.residue_requests, found.requests[0].residue) == (1, True)
    assert it.look(1.2).residue_requests == 0  # it was given back


def test_an_old_look_accuses_nobody(it: Watched) -> None:
    """A worker that gives no more signs of life held it before the end, as it should."""
    exchange = it.begin()
    it.clock.now = 5.0
    it.audit.over(exchange)
    it.clock.now = 50.0
    it.audit.look({WORKER: Look(4.5, {0: {"pages": 3}})})
    report = it.audit.report("m")
    assert (report.residue_requests, report.components[0].seen_s) == (0, 45.5)


def test_since_when_is_kept_over_looks_and_begins_again_after_a_pause(it: Watched) -> None:
    it.begin()
    assert [it.first(at).held[0].since_s for at in (1, 2, 3)] == [0, 1, 2]
    it.look(4)
    assert it.first(5).held[0].since_s == 0


@pytest.mark.parametrize("end", [AbortMsg(0), ErrorReply(0, "no")])
def test_a_request_that_never_had_an_exchange_ends_with_its_abort_or_error(it: Watched, end) -> None:
    it.audit.sent("out", TokenizeMsg(0, "x", SamplingParams()))
    if isinstance(end, AbortMsg):
        it.audit.sent("out", end)
    else:
        it.audit.received("in", [end])
    assert it.look(2, 0).residue_requests == 1


def test_several_requests_of_one_exchange_end_together(it: Watched) -> None:
    exchange = it.begin(0)
    it.audit.sent("out", TokenizeMsg(1, "x", SamplingParams()))
    it.audit.belongs(1, exchange)
    it.audit.over(exchange)
    assert it.look(2, 0, 1).residue_requests == 2


def test_what_comes_for_a_request_that_is_long_forgotten_is_residue(it: Watched) -> None:
    it.audit.over(it.begin())
    it.look(5)
    assert not it.audit._lives  # nothing grows with the requests served
    it.look(6, 0)
    late = it.look(8, 0).requests[0]
    assert (late.residue, late.age_s) == (True, None)


def test_the_list_has_an_end_and_residue_comes_first(it: Watched) -> None:
    uids = range(LONGEST_LIST + 5)
    exchanges = [it.begin(uid) for uid in uids]
    it.audit.over(exchanges[-1])
    report = it.look(2, *uids)
    assert (report.held_requests, len(report.requests)) == (len(uids), LONGEST_LIST)
    assert [request.uid for request in report.requests[:3]] == [uids[-1], 0, 1]


def test_a_component_says_how_long_it_is_at_one_step(it: Watched) -> None:
    it.audit.look({FRONT: Look(0, {}), WORKER: Look(0, {}, 12.5)})
    assert [component.step_s for component in it.audit.report("m").components] == [0, 12.5]
