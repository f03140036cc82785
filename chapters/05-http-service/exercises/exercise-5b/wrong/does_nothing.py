"""It looks at nothing, and passes whatever the class does.

Fails: misrouted: accepts
"""

from __future__ import annotations

from minisgl_tutor.exercises.drills.bench import Bench


async def test_routing(bench: Bench) -> None:
    await bench.ask()
