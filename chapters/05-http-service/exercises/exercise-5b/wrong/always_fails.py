"""It fails for everybody.

Fails: right-classes: rejects
"""

from __future__ import annotations

from minisgl_tutor.exercises.drills.bench import Bench


async def test_routing(bench: Bench) -> None:
    assert await bench.ask() < 0
