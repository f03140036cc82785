"""Behind a client that leaves both maps are looked at, and nothing else that a class may have.

Fails: kept-on-leave: accepts
"""

from __future__ import annotations

from minisgl_tutor.exercises.drills.bench import Bench


def gone(bench: Bench, uid: int) -> bool:
    return uid not in bench.frontend.ack_map and uid not in bench.frontend.event_map


async def test_routing(bench: Bench) -> None:
    a, b = await bench.ask(), await bench.ask()
    first, second = bench.stream(a), bench.stream(b)
    await bench.settle()
    await bench.reply((a, "A1 ", False))
    await bench.reply((b, "B1 ", False))
    await bench.reply((b, "B2 ", False))
    await bench.reply((a, "A2", True))
    assert first.text == "A1 A2"
    assert not bench.kept(a)
    assert bench.aborts == []
    await bench.reply((a, "late", False))
    assert not bench.kept(a)
    await bench.reply((b, "B3", True))
    assert second.text == "B1 B2 B3"
    assert not bench.kept(b)

    c, d = await bench.ask(), await bench.ask()
    leaver, stayer = bench.stream(c), bench.stream(d)
    await bench.reply((c, "C1 ", False), (d, "D1 ", False))
    leaver.leave()
    await bench.settle()
    assert bench.aborts == [c]
    assert gone(bench, c)
    await bench.reply((c, "C2 ", False), (d, "D2", True))
    assert gone(bench, c)
    assert stayer.text == "D1 D2"
