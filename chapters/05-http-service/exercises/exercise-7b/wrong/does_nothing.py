"""It looks at nothing.

Fails: end-streaming: accepts
"""

from __future__ import annotations

from minisgl_tutor.exercises.drills.bench import Bench


async def test_lifecycle(bench: Bench) -> None:
    await bench.ask()
