"""Exercise 5b: a test that shows that each consumer gets its own, and that nothing stays.

`bench` has a front end to be tested: a class like those of exercise 5, right or faulty. The test must pass
for every right class, and fail for every faulty one. What is asked is told in exercise-5b.md, beside
this file.
"""

from __future__ import annotations

from minisgl_tutor.exercises.drills.bench import Bench


async def test_routing(bench: Bench) -> None:
    a = await bench.ask()
    client = bench.stream(a)
    await bench.settle()
    await bench.reply((a, "A1 ", False))
    await bench.reply((a, "A2", True))
    assert client.text == "A1 A2"
