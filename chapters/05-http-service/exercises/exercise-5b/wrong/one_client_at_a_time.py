"""While one leaves, or ends, nobody else is there to be disturbed.

Fails: misrouted: accepts
"""

from __future__ import annotations

from minisgl_tutor.exercises.drills.bench import Bench


async def test_routing(bench: Bench) -> None:
    a = await bench.ask()
    first = bench.stream(a)
    await bench.settle()
    await bench.reply((a, "A1 ", False))
    await bench.reply((a, "A2", True))
    assert first.text == "A1 A2" and not bench.kept(a) and not bench.aborts
    b = await bench.ask()
    second = bench.stream(b)
    await bench.settle()
    second.leave()
    await bench.settle()
    assert bench.aborts == [b] and not bench.kept(b)
    await bench.reply((b, "late", True))
    assert not bench.kept(b)
