"""概念练习 5：并发、并行、批处理是三回事。

一份记录有 `exchanges`（request、accepted、finished）、`computing`（process、begin、
end）和 `forwards`（at、requests），时间单位是毫秒。`classify` 返回三个布尔值：HTTP 并发、
并行计算、多个请求的批处理。现在的函数把它们当成了一回事。
题目要求见旁边的 exercise-5c.5.zh.md。
"""

from __future__ import annotations

from minisgl_tutor.exercises.drills.three_words import Trace


def classify(trace: Trace) -> tuple[bool, bool, bool]:
    many = len(trace.exchanges) > 1
    return many, many, many
