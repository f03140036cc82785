"""Replies that are there together leave the encoder in one piece."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from minisgl_tutor.message import Usage, UserReply
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
