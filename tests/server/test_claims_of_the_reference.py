"""What chapter 5 states of the reference's front end and is otherwise here, shown with the gap on."""

from __future__ import annotations

import ast
import asyncio
import gc
import inspect
import logging
import textwrap
from typing import Any

import pytest

from minisgl_tutor.gaps import with_gaps
from minisgl_tutor.message import AbortMsg, SamplingParams, UserReply
from minisgl_tutor.server.frontend import FrontendManager
from minisgl_tutor.server.openai.answer import ResponseForm
from minisgl_tutor.trace.clock import run

FORM = ResponseForm("x", 0, "toy", chat=True)
PARAMS = SamplingParams(max_tokens=4)
EARLY_BREAK = with_gaps(FrontendManager, ["early-break"])
LATE_ABORT = with_gaps(FrontendManager, ["late-abort"])
ENDLESS_BACKLOG = with_gaps(FrontendManager, ["endless-backlog"])


def piece(uid: int, text: str, finished: bool = False) -> UserReply:
    return UserReply(uid, text, finished)


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


class Client:
    """Counts how often it is asked whether it is still there; it is for so many times."""

    def __init__(self, stays_for: int = 1000) -> None:
        self.asked = 0
        self.stays_for = stays_for

    async def is_disconnected(self) -> bool:
        self.asked += 1
        return self.asked > self.stays_for

    async def receive(self) -> dict[str, str]:
        await asyncio.Event().wait()
        raise AssertionError


def stream(state: Any, uid: int, client: Client) -> Any:
    return state.stream_with_cancellation(state.stream_chat_completions(uid, FORM), client, uid)


# -- the early break


def test_the_deletion_stands_behind_the_loop() -> None:
    """C5.120, by the source."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(EARLY_BREAK.wait_for_ack)))
    (method,) = tree.body
    assert isinstance(method, ast.AsyncFunctionDef)
    *_, loop, first, second = method.body
    assert isinstance(loop, ast.While)
    assert [ast.unparse(first), ast.unparse(second)] == ["del self.ack_map[uid]", "del self.event_map[uid]"]


def test_the_tail_runs_if_the_caller_does_not_leave(rig: Any) -> None:
    """C5.121."""

    async def main() -> None:
        r = rig(EARLY_BREAK)
        uid = await r.state.submit("a", PARAMS)
        r.feed(piece(uid, "a"), piece(uid, "b", finished=True))
        assert [reply.incremental_output async for reply in r.state.wait_for_ack(uid)] == ["a", "b"]
        assert uid not in r.state.ack_map and uid not in r.state.event_map

    run(main)


@pytest.mark.parametrize("streaming", [True, False])
def test_the_entries_stay_in_both_ways_of_answering(rig: Any, streaming: bool) -> None:
    """C5.122: and no collection of garbage changes that."""

    async def main() -> None:
        r = rig(EARLY_BREAK)
        uid = await r.state.submit("a", PARAMS)
        r.feed(piece(uid, "a"), piece(uid, "b", finished=True))
        if streaming:
            body = b"".join([chunk async for chunk in stream(r.state, uid, Client())])
            assert body.endswith(b"data: [DONE]\n\n")
        else:
            assert (await r.state.collect(uid, Client())).text == "ab"
        gc.collect()
        await turns()
        assert r.state.held() == {uid: {"ack_map": 0, "event_map": 0}}

    run(main)


def test_closing_does_not_run_the_tail(rig: Any) -> None:
    """C5.123."""

    async def main() -> None:
        r = rig(EARLY_BREAK)
        uid = await r.state.submit("a", PARAMS)
        r.feed(piece(uid, "a", finished=True))
        replies = r.state.wait_for_ack(uid)
        await anext(replies)
        await replies.aclose()
        assert uid in r.state.ack_map and uid in r.state.event_map

    run(main)


@pytest.mark.parametrize(("cls", "ends"), [(EARLY_BREAK, False), (FrontendManager, True)])
def test_the_reference_ends_by_itself_only_at_the_end_of_what_it_took(
    rig: Any, cls: type[FrontendManager], ends: bool
) -> None:
    """C5.75: a reply behind the finished one, and a caller that does not leave, and it waits for ever."""

    async def main() -> None:
        r = rig(cls)
        uid = r.state.new_user()
        for reply in (piece(uid, "a", finished=True), piece(uid, "more")):
            r.state.ack_map[uid].append(reply)
        r.state.event_map[uid].set()

        async def take() -> None:
            async for _ in r.state.wait_for_ack(uid):
                pass

        taking = asyncio.create_task(take())
        await turns(50)
        assert taking.done() is ends
        taking.cancel()

    run(main)


def test_entries_that_stayed_take_in_replies(rig: Any) -> None:
    """C5.157."""

    async def main() -> None:
        r = rig(EARLY_BREAK)
        uid = await r.state.submit("a", PARAMS)
        r.feed(piece(uid, "a", finished=True))
        await r.state.collect(uid, Client())
        r.feed(piece(uid, "late"))
        await turns()
        assert r.state.ack_map[uid] == [piece(uid, "late")]

    run(main)


# -- the late abort


def test_the_reference_looks_once_for_each_block(rig: Any) -> None:
    """C5.129, C5.130: before it sends the block, and never without one."""

    async def main() -> None:
        r = rig(LATE_ABORT)
        uid = await r.state.submit("a", PARAMS)
        client = Client(stays_for=2)
        chunks = stream(r.state, uid, client)
        for number in range(2):
            asking = asyncio.create_task(anext(chunks))
            await turns()
            assert client.asked == number
            r.feed(piece(uid, str(number)))
            assert f'"content":"{number}"'.encode() in await asking
        r.feed(piece(uid, "2"))
        with pytest.raises(asyncio.CancelledError):
            await anext(chunks)
        assert client.asked == 3

    run(main)


def test_a_client_that_is_gone_is_logged_and_the_stream_cancelled(
    rig: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """C5.132."""

    async def main() -> None:
        r = rig(LATE_ABORT)
        uid = await r.state.submit("a", PARAMS)
        r.feed(piece(uid, "a"))
        with caplog.at_level(logging.INFO, "minisgl_tutor"), pytest.raises(asyncio.CancelledError):
            await anext(stream(r.state, uid, Client(stays_for=0)))
        assert caplog.messages == ["the client of user 0 has disconnected"]
        assert [record.levelname for record in caplog.records] == ["INFO"]

    run(main)


def test_the_abort_is_a_task_and_the_cancellation_goes_on(rig: Any) -> None:
    """C5.133."""

    async def main() -> None:
        r = rig(LATE_ABORT)
        uid = await r.state.submit("a", PARAMS)
        waiting = asyncio.create_task(anext(stream(r.state, uid, Client())))
        await turns()
        waiting.cancel()
        await asyncio.wait([waiting])
        assert waiting.cancelled()
        assert f"abort_user({uid})" in {task.get_name() for task in asyncio.all_tasks()}

    run(main)


def test_order_and_time_of_an_abort(rig: Any, caplog: pytest.LogCaptureFixture) -> None:
    """C5.134, C5.136, C5.138: nothing for a tenth of a second; then entries, warning, message."""

    async def main() -> None:
        r = rig(LATE_ABORT)
        uid = await r.state.submit("a", PARAMS)
        r.sent()
        log: list[tuple[bool, list[str]]] = []
        send_one = r.state.send_one

        async def watched(msg: AbortMsg) -> None:
            log.append((uid in r.state.ack_map or uid in r.state.event_map, list(caplog.messages)))
            await send_one(msg)

        r.state.send_one = watched
        aborting = asyncio.create_task(r.state.abort_user(uid))
        await asyncio.sleep(0.09)
        assert uid in r.state.ack_map and uid in r.state.event_map and log == []
        await asyncio.sleep(0.02)
        assert aborting.done() and r.sent() == [AbortMsg(uid)]
        assert log == [(False, [f"aborting the request of user {uid}"])]

    with caplog.at_level(logging.WARNING, "minisgl_tutor"):
        run(main)


def test_an_abort_of_an_unknown_user_is_sent_all_the_same(rig: Any) -> None:
    """C5.135, C5.139."""

    async def main() -> None:
        r = rig(LATE_ABORT)
        await r.state.abort_user(99)
        assert r.sent() == [AbortMsg(99)] and r.state.held() == {}

    run(main)


@pytest.mark.parametrize("cls", [LATE_ABORT, FrontendManager])
def test_other_ends_of_a_stream_send_no_abort(rig: Any, cls: type[FrontendManager]) -> None:
    """C5.141: with the gap neither an exception nor a close does; without it both do."""

    async def main() -> None:
        r = rig(cls)
        failing, closed = [await r.state.submit("a", PARAMS) for _ in range(2)]
        r.sent()

        async def blocks() -> Any:
            yield b"a"
            raise ValueError

        broken = r.state.stream_with_cancellation(blocks(), Client(), failing)
        await anext(broken)
        with pytest.raises(ValueError):
            await anext(broken)
        left = r.state.stream_with_cancellation(blocks(), Client(), closed)
        await anext(left)
        await left.aclose()
        await asyncio.sleep(1)
        assert r.sent() == ([] if cls is LATE_ABORT else [AbortMsg(failing), AbortMsg(closed)])

    run(main)


# -- the endless backlog


def test_what_piles_up_is_bounded_by_the_limit_of_each_request(rig: Any) -> None:
    """C5.171: no more replies than tokens, but of all requests together; without the gap there is a bound."""

    async def main() -> None:
        for cls, unread in ((ENDLESS_BACKLOG, 20), (FrontendManager, 1)):
            r = rig(cls, backlog_limit=10)
            uids = [await r.state.submit("a", SamplingParams(max_tokens=20)) for _ in range(50)]
            for number in range(20):
                r.feed(*[piece(uid, "x", finished=number == 19) for uid in uids])
            await turns(30)
            assert [len(r.state.ack_map[uid]) for uid in uids] == [unread] * 50

    run(main)
