"""The audit comes when all that cleans up by and by has done it.

Fails: end-streaming: accepts
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from minisgl_tutor.exercises.drills.bench import Bench


async def test_lifecycle(bench: Bench) -> None:
    a, b = await bench.ask(), await bench.ask()
    client, neighbour = bench.stream(a), bench.stream(b)
    await bench.settle()
    await bench.reply((a, "A1 ", False), (b, "B1 ", False))
    await bench.reply((a, "A2", True), (a, "more", False))
    assert client.served and client.text == "A1 A2"
    await asyncio.sleep(1)
    assert not bench.kept(a)
    assert not bench.aborts
    await bench.reply((a, "late", False))
    await asyncio.sleep(1)
    assert not bench.kept(a)
    await bench.reply((b, "B2", True))
    assert neighbour.text == "B1 B2"

    a = await bench.ask()
    client = bench.whole(a)
    await bench.reply((a, "A1 ", False))
    await bench.reply((a, "A2", True))
    assert client.text == "A1 A2"
    await asyncio.sleep(1)
    assert not bench.kept(a)

    a = await bench.ask()
    client = bench.stream(a)
    await bench.reply((a, "A1 ", False))
    client.leave()
    await bench.settle()
    assert bench.aborts == [a]
    await asyncio.sleep(1)
    assert not bench.kept(a)

    a = await bench.ask()
    client = bench.whole(a)
    await bench.settle()
    client.leave()
    await asyncio.sleep(0.25)
    assert client.served
    assert bench.aborts[-1] == a
    await asyncio.sleep(1)
    assert not bench.kept(a)

    a = await bench.ask()
    client = bench.stream(a)
    await bench.settle()
    client.fail()
    await bench.reply((a, "A1 ", False))
    assert bench.aborts[-1] == a
    await asyncio.sleep(1)
    assert not bench.kept(a)

    bench.fail_next_send()
    with suppress(ConnectionError):
        await bench.ask()
    await asyncio.sleep(1)
    assert not any(bench.kept(uid) for uid in range(20))

    a = await bench.ask()
    client = bench.stream(a)
    await bench.reply((a, "A1 ", False))
    await bench.frontend.abort_user(a)
    client.leave()
    await bench.settle()
    assert client.error is None
    assert bench.aborts.count(a) == 1
