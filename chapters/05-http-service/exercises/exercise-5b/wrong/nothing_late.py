"""Replies come in time.

Fails: late-replies: accepts
"""

from __future__ import annotations

from minisgl_tutor.exercises.drills.bench import Bench


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
    await bench.reply((b, "B3", True))
    assert second.text == "B1 B2 B3"
    assert not bench.kept(b)

    c, d = await bench.ask(), await bench.ask()
    leaver, stayer = bench.stream(c), bench.stream(d)
    await bench.reply((c, "C1 ", False), (d, "D1 ", False))
    leaver.leave()
    await bench.settle()
    assert bench.aborts == [c]
    assert not bench.kept(c)
    await bench.reply((d, "D2", True))
    assert stayer.text == "D1 D2"
