"""A client that does not read: what waits for it is bounded, and it catches up in one piece."""

from __future__ import annotations

import asyncio
import gc

import pytest

from minisgl_tutor.message import AbortMsg, ErrorReply, SamplingParams, Usage, UserReply
from minisgl_tutor.message.logprobs import ScoredText, TextLogprobs
from minisgl_tutor.server.backlog import FAR_BEHIND, LOGPROB_BYTES, UnreadBytes, merged, size_of
from minisgl_tutor.trace.clock import run

PARAMS = SamplingParams(max_tokens=4)
SCORE = TextLogprobs(ScoredText("a", b"a", -1.0), (ScoredText("b", b"b", -2.0),))


def text(uid: int, piece: str) -> UserReply:
    return UserReply(uid, piece, finished=False)


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def test_merging_loses_nothing_and_ends_as_the_last_one_does() -> None:
    end = UserReply(3, "c", True, "length", Usage(1, 3, 0), (SCORE,))
    (whole,) = merged([text(3, "a"), UserReply(3, "b", False, logprobs=(SCORE,)), end])
    assert whole == UserReply(3, "abc", True, "length", Usage(1, 3, 0), (SCORE, SCORE))


def test_an_error_stays_behind_the_text_before_it() -> None:
    error = ErrorReply(3, "gone")
    assert merged([text(3, "a"), text(3, "b"), error]) == [text(3, "ab"), error]
    assert merged([error]) == [error]
    assert merged([text(3, "a"), error]) == [text(3, "a"), error]


def test_size_is_in_bytes_of_the_text_and_of_its_logprobs() -> None:
    assert size_of(text(0, "é什😀")) == 2 + 3 + 4
    assert size_of(UserReply(0, "a", False, logprobs=(SCORE,))) == 1 + 2 * LOGPROB_BYTES
    assert size_of(ErrorReply(0, "x" * 100)) == 0


def test_bytes_are_counted_anew_for_each_list_and_go_with_the_event() -> None:
    unread, event, replies = UnreadBytes(), asyncio.Event(), []
    for expected in (2, 4, 6):
        replies.append(text(0, "ab"))
        assert unread.grown(event, replies) == expected
    assert unread.grown(event, [text(0, "xyz")]) == 3
    assert unread.grown(event, [text(0, "xyz"), text(0, "a")]) == 4
    del event
    gc.collect()
    assert len(unread) == 0


@pytest.mark.parametrize(("last", "ended"), [("1234", False), ("12345", True)])
def test_both_sides_of_the_bound_in_bytes(rig, last: str, ended: bool) -> None:
    async def main() -> None:
        r = rig(backlog_bytes=100)
        uid = await r.state.submit("a", PARAMS)
        r.sent()
        r.feed(*[text(uid, "什么")] * 16, text(uid, last))
        await turns()
        codes = [getattr(reply, "code", None) for reply in r.state.ack_map[uid]]
        assert codes == (["slow_reader"] if ended else [None] * 17)
        assert r.sent() == ([AbortMsg(uid)] if ended else [])

    run(main)


def test_one_piece_alone_is_delivered_whatever_its_size(rig) -> None:
    async def main() -> None:
        r = rig(backlog_bytes=100)
        uid = await r.state.submit("a", PARAMS)
        r.feed(text(uid, "x" * 1000))
        await turns()
        assert len(r.state.ack_map[uid]) == 1

    run(main)


@pytest.mark.parametrize(("unread", "pieces"), [(FAR_BEHIND - 1, FAR_BEHIND - 1), (FAR_BEHIND, 1)])
def test_a_reader_that_was_far_behind_gets_in_one_piece_what_it_left(rig, unread: int, pieces: int) -> None:
    async def main() -> None:
        r = rig()
        uid = await r.state.submit("a", PARAMS)
        replies = r.state.wait_for_ack(uid)
        waiting = asyncio.ensure_future(anext(replies))
        await turns()
        r.feed(text(uid, "first"))
        assert (await waiting).incremental_output == "first"
        letters = [chr(ord("0") + i) for i in range(unread - 1)]
        for letter in letters:  # nobody asks for them now
            r.feed(text(uid, letter))
            await turns()
        r.feed(UserReply(uid, "last", True, "stop"))
        await turns()
        rest = [reply async for reply in replies]
        assert len(rest) == pieces
        assert "".join(reply.incremental_output for reply in rest) == "".join(letters) + "last"
        assert rest[-1].finish_reason == "stop"

    run(main)
