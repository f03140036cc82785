"""Replies come in turn, one for each: whoever deals them out in turn is right by chance.

Fails: misrouted: accepts
"""

from __future__ import annotations

from minisgl_tutor.exercises.drills.bench import Bench


async def test_routing(bench: Bench) -> None:
    a, b = await bench.ask(), await bench.ask()
    first, second = bench.stream(a), bench.stream(b)
    await bench.settle()
    await bench.reply((a, "A1 ", False))
    await bench.reply((b, "B1 ", False))
    await bench.reply((a, "A2", True))
    assert first.text == "A1 A2"
    assert second.text == "B1 "
    assert not bench.kept(a)
    assert bench.aborts == []
