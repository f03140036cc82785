"""Three stories, each for one promise, told one after the other; the maps are looked at by name as well."""

from __future__ import annotations

from minisgl_tutor.exercises.drills.bench import Bench


async def test_routing(bench: Bench) -> None:
    await each_its_own(bench)
    await leaving(bench)
    await late(bench)


def gone(bench: Bench, uid: int) -> bool:
    maps = (bench.frontend.ack_map, bench.frontend.event_map)
    return not bench.kept(uid) and all(uid not in each for each in maps)


async def each_its_own(bench: Bench) -> None:
    uids = [await bench.ask() for _ in range(3)]
    clients = [bench.whole(uid) if place == 1 else bench.stream(uid) for place, uid in enumerate(uids)]
    await bench.settle()
    for place in (2, 0, 0, 1, 2):
        await bench.reply((uids[place], f"{place} ", False))
    for place, text in ((1, "1 1"), (0, "0 0 0"), (2, "2 2 2")):
        await bench.reply((uids[place], str(place), True))
        assert clients[place].text == text
        assert gone(bench, uids[place])
    assert not bench.aborts


async def leaving(bench: Bench) -> None:
    stays, leaves = await bench.ask(), await bench.ask()
    one, other = bench.stream(stays), bench.stream(leaves)
    await bench.settle()
    other.leave()
    await bench.settle()
    assert bench.aborts == [leaves] and gone(bench, leaves)
    await bench.reply((stays, "all", True))
    assert one.text == "all" and gone(bench, stays)


async def late(bench: Bench) -> None:
    uid = await bench.ask()
    bench.stream(uid)
    await bench.reply((uid, "all", True))
    for finished in (False, True):
        await bench.reply((uid, "late", finished))
        assert gone(bench, uid)
    again = await bench.ask()
    client = bench.stream(again)
    await bench.reply((again, "next", True))
    assert client.text == "next"
