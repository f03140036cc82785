"""Replies that are there together leave the encoder in one piece."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from typing import Any

from minisgl_tutor.message import Reply, Usage, UserReply
from minisgl_tutor.server.frontend import FrontendManager
from minisgl_tutor.server.openai.answer import ResponseForm
from minisgl_tutor.trace.clock import run


def text(uid: int, piece: str) -> UserReply:
    return UserReply(uid, piece, finished=False)


def last(uid: int, piece: str) -> UserReply:
    return UserReply(uid, piece, finished=True, finish_reason="stop", usage=Usage(1, 2, 0))


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_each_event_by_itself_or_with_those_that_wait_in_their_order(rig: Any) -> None:
    async def main() -> None:
        r = rig()
        a, b = r.state.new_user(), r.state.new_user()
        r.state._create_listener_once()
        pieces: dict[int, list[bytes]] = {a: [], b: []}

        async def read(uid: int) -> None:
            async for piece in r.state.stream_chat_completions(uid, ResponseForm("x", 0, "toy", chat=True)):
                pieces[uid].append(piece)

        readers = [asyncio.create_task(read(uid)) for uid in (a, b)]
        await turns()
        r.feed(text(a, "1"))
        await turns()
        r.feed(text(a, "2"), text(b, "x"), text(a, "3"), text(a, "4"))
        await turns()
        r.feed(text(b, "y"), text(a, "5"), last(a, "6"), last(b, ""))
        await asyncio.gather(*readers)
        texts = {
            uid: [b"".join(re.findall(b'"content":"(.)"', piece)) for piece in pieces[uid]] for uid in pieces
        }
        assert texts == {a: [b"1", b"234", b"56", b"", b""], b: [b"x", b"y", b"", b""]}
        assert b"".join(pieces[a]).count(b"\n\n") == 8

    run(main)


def test_a_consumer_that_waits_between_its_replies_loses_no_end(rig: Any) -> None:
    """``more_follows`` may then speak of another request's reply, which can delay a piece and no more."""

    class Slow(FrontendManager):
        async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
            async for reply in super().wait_for_ack(uid):
                await asyncio.sleep(0.001 * (1 + uid))
                yield reply

    async def main() -> None:
        r = rig(Slow)
        a, b = r.state.new_user(), r.state.new_user()
        r.state._create_listener_once()
        streams = [
            r.state.stream_chat_completions(uid, ResponseForm("x", 0, "toy", chat=True)) for uid in (a, b)
        ]
        r.feed(last(a, "A"), *[text(b, str(n)) for n in range(9)], last(b, "9"))

        async def read(stream: AsyncGenerator[bytes, None]) -> bytes:
            return b"".join([chunk async for chunk in stream])

        got = await asyncio.gather(*map(read, streams))
        assert [answer.count(b'"finish_reason":"stop"') for answer in got] == [1, 1]
        assert b"A" in got[0] and all(str(n).encode() in got[1] for n in range(10))

    run(main)
