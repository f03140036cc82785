"""练习 7b：写一个测试，证明请求不论怎样结束，都不留下任何东西。

`bench` 里有一个待测的前端：和练习 7 里一样的类，可能对，也可能有错。对每个正确的类，
测试都要通过；对每个有错的类，都要失败。
题目要求见旁边的 exercise-7b.zh.md。
"""

from __future__ import annotations

from minisgl_tutor.exercises.drills.bench import Bench


async def test_lifecycle(bench: Bench) -> None:
    a = await bench.ask()
    client = bench.stream(a)
    await bench.settle()
    await bench.reply((a, "A1 ", False))
    await bench.reply((a, "A2", True))
    assert client.text == "A1 A2"
