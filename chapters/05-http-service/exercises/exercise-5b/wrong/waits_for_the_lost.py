"""It waits for the end of a client that the class is right never to serve.

Fails: right-classes: rejects
"""

from __future__ import annotations

from minisgl_tutor.exercises.drills.bench import Bench


async def test_routing(bench: Bench) -> None:
    a, b = await bench.ask(), await bench.ask()
    first, second = bench.stream(a), bench.stream(b)
    await bench.reply((a, "A", True))
    await first.end()
    await second.end()
