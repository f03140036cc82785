"""Each way of ending is a function that says what must have been sent; one audit stands behind them all."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from minisgl_tutor.exercises.drills.bench import Bench


async def test_lifecycle(bench: Bench) -> None:
    neighbours = [bench.stream(await bench.ask()) for _ in range(2)]
    await bench.settle()
    for end in (streamed, whole, leaves, leaves_whole, unwritable, aborted):
        uid = await bench.ask()
        due, aborts = await end(bench, uid)
        assert due == "", due
        assert bench.aborts.count(uid) == aborts
        assert not bench.kept(uid)
        for finished in (False, True):
            await bench.reply((uid, "late", finished))
        assert not bench.kept(uid)
    bench.fail_next_send()
    with suppress(ConnectionError):
        await bench.ask()
    assert not any(bench.kept(uid) for uid in range(30) if uid not in {each.uid for each in neighbours})
    for each in neighbours:
        await bench.reply((each.uid, "for you", True))
        assert each.text == "for you"


async def streamed(bench: Bench, uid: int) -> tuple[str, int]:
    client = bench.stream(uid)
    await bench.reply((uid, "one ", False))
    await bench.reply((uid, "two", True), (uid, "three", False))
    return ("" if client.text == "one two" and client.served else "not answered"), 0


async def whole(bench: Bench, uid: int) -> tuple[str, int]:
    client = bench.whole(uid)
    await bench.reply((uid, "one ", False))
    await bench.reply((uid, "two", True))
    return ("" if client.text == "one two" and client.served else "not answered"), 0


async def leaves(bench: Bench, uid: int) -> tuple[str, int]:
    client = bench.stream(uid)
    await bench.reply((uid, "one ", False))
    client.leave()
    await bench.settle()
    return ("" if client.served else "still served"), 1


async def leaves_whole(bench: Bench, uid: int) -> tuple[str, int]:
    client = bench.whole(uid)
    await bench.settle()
    client.leave()
    await asyncio.sleep(0.25)
    return ("" if client.served else "still served"), 1


async def unwritable(bench: Bench, uid: int) -> tuple[str, int]:
    client = bench.stream(uid)
    await bench.settle()
    client.fail()
    await bench.reply((uid, "one ", False))
    return ("" if client.served else "still served"), 1


async def aborted(bench: Bench, uid: int) -> tuple[str, int]:
    client = bench.stream(uid)
    await bench.reply((uid, "one ", False))
    await bench.frontend.abort_user(uid)
    client.leave()
    await bench.settle()
    return ("" if client.error is None else "raised"), 1
