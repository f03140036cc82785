"""The numbers behind the metrics, and the limits that hang on them."""

from __future__ import annotations

import asyncio

import pytest

from minisgl_tutor.message import AbortMsg, ErrorReply, SamplingParams, TokenizeMsg, Usage, UserReply
from minisgl_tutor.server.config import Limits
from minisgl_tutor.server.limits.deadlines import Deadlines
from minisgl_tutor.server.openai.failure import RequestFailed
from minisgl_tutor.server.operations.ledger import Distribution, Ledger
from minisgl_tutor.trace.clock import run

PARAMS = SamplingParams()


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(clock: Clock) -> Ledger:
    return Ledger(clock)


def submit(ledger: Ledger, *uids: int) -> None:
    for uid in uids:
        ledger.sent("out", TokenizeMsg(uid, "x", PARAMS))


def token(uid: int) -> UserReply:
    return UserReply(uid, "a", False)


def end(uid: int, usage: Usage, reason="stop") -> UserReply:
    return UserReply(uid, "", True, reason, usage)


def test_a_value_on_a_bound_belongs_to_it() -> None:
    times = Distribution((1, 2))
    for seconds in (0.5, 1, 1.5, 2, 3):
        times.add(seconds)
    assert times.counts == [2, 2, 1] and times.sum == 8


def test_a_whole_life(ledger: Ledger, clock: Clock) -> None:
    submit(ledger, 7)
    assert list(ledger.waiting) == [7]
    clock.now = 1.0
    ledger.received("in", [token(7)])
    assert list(ledger.running) == [7] and not ledger.waiting
    clock.now = 1.5
    ledger.received("in", [token(7)])
    clock.now = 2.5
    ledger.received("in", [end(7, Usage(prompt_tokens=10, completion_tokens=4, cached_tokens=8))])
    assert not ledger.running and ledger.ended == {"stop": 1}
    assert (ledger.prompt_tokens, ledger.cached_tokens, ledger.generation_tokens) == (10, 8, 4)
    assert (ledger.first_token.sum, ledger.between_tokens.sum, ledger.whole_request.sum) == (1.0, 1.5, 2.5)
    assert sum(ledger.between_tokens.counts) == 2


def test_each_ending_is_counted_once(ledger: Ledger) -> None:
    submit(ledger, 0, 1, 2, 3)
    ledger.received("in", [token(0), token(1)])
    ledger.sent("out", AbortMsg(0))
    ledger.sent("out", AbortMsg(0))
    ledger.received("in", [token(0), end(0, Usage(), "abort"), ErrorReply(1, "x"), ErrorReply(1, "x")])
    ledger.received("in", [end(2, Usage(), "length"), ErrorReply(99, "x")])
    ledger.sent("out", AbortMsg(3))
    assert ledger.ended == {"abort": 2, "error": 1, "length": 1}
    assert not ledger.running and not ledger.waiting


def test_overdue_is_who_has_no_token_and_who_has_no_end(ledger: Ledger, clock: Clock) -> None:
    submit(ledger, 0, 1)
    clock.now = 5
    submit(ledger, 2)
    ledger.received("in", [token(0)])
    clock.now = 9.9
    assert ledger.overdue(10, 20) == ([], [])
    clock.now = 10
    assert ledger.overdue(10, 20) == ([1], [])
    clock.now = 20
    assert ledger.overdue(10, 20) == ([1, 2], [0])


def test_a_deadline_ends_the_request_with_one_abort(rig, ledger: Ledger, clock: Clock) -> None:
    async def main() -> None:
        it = rig()
        it.outbox[0].observer = ledger
        deadlines = Deadlines(it.state, ledger.overdue, Limits(first_token_timeout=10, request_timeout=20))
        slow, long = await it.state.submit("a", PARAMS), await it.state.submit("b", PARAMS)
        it.sent()
        ledger.received("in", [token(long)])
        it.feed(token(long))
        clock.now = 10
        deadlines.look()
        deadlines.look()
        with pytest.raises(RequestFailed, match="no token within 10 s") as failed:
            await it.state.collect(slow, Waits())
        assert failed.value.reply.status == 504
        assert it.sent() == [AbortMsg(slow)]
        clock.now = 20
        deadlines.look()
        with pytest.raises(RequestFailed, match="no end within 20 s"):
            await it.state.collect(long, Waits())
        assert it.sent() == [AbortMsg(long)]
        assert it.state.held() == {} and not ledger.waiting and not ledger.running
        assert deadlines.expired == {"first_token_timeout": 1, "request_timeout": 1}

    run(main)


class Waits:
    """A client that stays."""

    async def receive(self) -> dict[str, str]:
        await asyncio.get_running_loop().create_future()
        return {}
