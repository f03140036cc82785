"""The virtual-time loop: exact instants, one order, and an error in place of every hang."""

from __future__ import annotations

import asyncio
import gc
import heapq
import math
import random
import threading
import weakref
from collections.abc import AsyncIterator
from typing import cast

import anyio.to_thread
import pytest

from minisgl_tutor.trace.clock import Deadlock, Livelock, ThreadUsed, VirtualTimeLoop, run


def loop() -> VirtualTimeLoop:
    return cast(VirtualTimeLoop, asyncio.get_running_loop())


def test_time_starts_at_zero_and_jumps() -> None:
    async def main() -> tuple[int, int]:
        start = loop().now_us()
        await asyncio.sleep(24 * 3600 * 3)  # longer than any one wait of a selector
        return start, loop().now_us()

    assert run(main) == (0, 3 * 24 * 3600 * 1_000_000)


@pytest.mark.parametrize("far", [0, 10**9, 10**15])  # the last is 31 years
def test_instants_are_exact_to_the_microsecond(far: int) -> None:
    instants = [far + n for n in (1, 2, 3, 10, 333_333, 333_334, 1_000_001)]

    async def main() -> list[int]:
        seen: list[int] = []
        for us in instants:
            loop().call_at(us / 1e6, lambda: seen.append(loop().now_us()))
        await asyncio.sleep((far + 2_000_000) / 1e6)
        return seen

    assert run(main) == instants


def test_delays_do_not_drift() -> None:
    async def main() -> int:
        for _ in range(1000):
            await asyncio.sleep(0.1)
        return loop().now_us()

    assert run(main) == 100_000_000


def test_the_smallest_delay_moves_time() -> None:
    async def main() -> int:
        await asyncio.sleep(1e-9)
        return loop().now_us()

    assert run(main) == 1


def test_order_is_by_time_then_by_when_it_was_set() -> None:
    rng = random.Random(1)
    instants = [rng.randrange(20) for _ in range(500)]

    async def main() -> list[int]:
        seen: list[int] = []
        timers = [loop().call_at(us / 1e6, seen.append, n) for n, us in enumerate(instants)]
        for timer in timers[::3]:
            timer.cancel()
        await asyncio.sleep(1)
        return seen

    heap = [(us, n) for n, us in enumerate(instants) if n % 3]
    heapq.heapify(heap)
    assert run(main) == [heapq.heappop(heap)[1] for _ in range(len(heap))]


def test_one_instant_reached_by_different_sums_is_one_instant() -> None:
    async def main() -> list[str]:
        seen: list[str] = []
        loop().call_at(0.1 + 0.2, seen.append, "first")  # 0.30000000000000004
        loop().call_at(0.3, seen.append, "second")
        await asyncio.sleep(1)
        return seen

    assert run(main) == ["first", "second"]


def test_a_timer_set_for_the_past_runs_now_and_in_turn() -> None:
    async def main() -> list[tuple[str, int]]:
        seen: list[tuple[str, int]] = []
        await asyncio.sleep(5)
        loop().call_at(5, lambda: seen.append(("now", loop().now_us())))
        loop().call_at(1, lambda: seen.append(("past", loop().now_us())))
        await asyncio.sleep(1)
        return seen

    assert run(main) == [("now", 5_000_000), ("past", 5_000_000)]


def test_a_cancelled_timer_does_not_move_time() -> None:
    async def main() -> int:
        loop().call_later(1000, print).cancel()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(2):
                await asyncio.Event().wait()
        return loop().now_us()

    assert run(main) == 2_000_000


def test_two_runs_are_the_same() -> None:
    async def worker(name: int, queue: asyncio.Queue[int], seen: list[tuple[int, int, int]]) -> None:
        while True:
            item = await queue.get()
            await asyncio.sleep(item / 1000)
            seen.append((loop().now_us(), name, item))

    async def main() -> list[tuple[int, int, int]]:
        seen: list[tuple[int, int, int]] = []
        queue: asyncio.Queue[int] = asyncio.Queue()
        for name in range(5):
            asyncio.create_task(worker(name, queue, seen))  # noqa: RUF006
        for item in range(100):
            queue.put_nowait(item % 7)
        await asyncio.sleep(10)
        return seen

    first = run(main)
    assert len(first) == 100
    assert run(main) == first


def test_a_task_that_nobody_holds_is_not_lost() -> None:
    async def nobody_holds() -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        asyncio.create_task(nobody_holds(), name="orphan")  # noqa: RUF006
        await asyncio.sleep(1)
        gc.collect()
        await asyncio.Event().wait()

    with pytest.raises(Deadlock, match="orphan waits"):
        run(main)


def test_a_task_that_ended_is_let_go() -> None:
    async def main() -> weakref.ref[asyncio.Task[None]]:
        task = asyncio.create_task(asyncio.sleep(1))
        await task
        return weakref.ref(task)

    async def outer() -> bool:
        ended = await main()
        await asyncio.sleep(1)
        gc.collect()
        return ended() is None

    assert run(outer)


async def wait_for_ever(event: asyncio.Event) -> None:
    await event.wait()


async def stream(event: asyncio.Event) -> AsyncIterator[int]:
    yield 1
    await event.wait()


def test_a_deadlock_names_who_waits_and_where() -> None:
    async def reads() -> None:
        async for _ in stream(asyncio.Event()):
            pass

    async def main() -> None:
        await asyncio.sleep(0.25)
        async with asyncio.TaskGroup() as group:
            group.create_task(wait_for_ever(asyncio.Event()), name="A")
            group.create_task(reads(), name="B")

    with pytest.raises(Deadlock, match="At 250000 us nothing can run") as caught:
        run(main)
    task_1, a, b = caught.value.waiting
    assert task_1.task == "Task-1" and task_1.function.endswith("main")
    line = wait_for_ever.__code__.co_firstlineno + 1
    assert str(a) == f"A waits at {__name__}:{line} in wait_for_ever"
    line = stream.__code__.co_firstlineno + 2
    assert str(b) == f"B waits at {__name__}:{line} in stream"
    assert str(b) in str(caught.value)


def test_a_wait_without_end_is_a_deadlock() -> None:
    with pytest.raises(Deadlock):
        run(asyncio.sleep, math.inf)


def test_polling_is_a_livelock() -> None:
    async def polls() -> None:
        while True:
            await asyncio.sleep(0)

    with pytest.raises(Livelock, match="turned 50 times at 0 us") as caught:
        run(polls, turns_per_instant=50)
    assert caught.value.waiting[0].function.endswith("polls")


def test_many_turns_are_fine_while_time_moves() -> None:
    async def main() -> None:
        for _ in range(100):
            await asyncio.sleep(0)
            await asyncio.sleep(0.001)

    run(main, turns_per_instant=5)


def test_an_error_of_the_loop_cannot_be_swallowed() -> None:
    async def main() -> None:
        while True:
            try:
                await asyncio.Event().wait()
            except Exception:
                continue

    with pytest.raises(Deadlock):
        run(main)


def test_an_executor_is_refused() -> None:
    with pytest.raises(ThreadUsed):
        run(asyncio.to_thread, print)


def test_a_thread_of_anyio_is_refused() -> None:
    # As Starlette runs a plain `def` endpoint.
    gate = threading.Event()

    async def main() -> None:
        await anyio.to_thread.run_sync(gate.wait)

    with pytest.raises(ThreadUsed, match="must be async"):
        try:
            run(main)
        finally:
            gate.set()


def test_a_call_from_another_thread_is_refused() -> None:
    async def main() -> None:
        thread = threading.Thread(target=loop().call_soon_threadsafe, args=(print,), name="stranger")
        thread.start()
        thread.join()
        await asyncio.sleep(1)

    with pytest.raises(ThreadUsed, match="stranger"):
        run(main)


def test_runs_in_a_thread_and_next_to_another_loop() -> None:
    async def main() -> int:
        await asyncio.sleep(1)
        return loop().now_us()

    results: list[int] = []
    thread = threading.Thread(target=lambda: results.append(run(main)))
    thread.start()
    thread.join()
    assert results == [1_000_000]


def test_the_default_loop_is_left_alone() -> None:
    policy = asyncio.get_event_loop_policy()
    mine = asyncio.new_event_loop()
    asyncio.set_event_loop(mine)
    try:
        run(asyncio.sleep, 1)
        assert asyncio.get_event_loop_policy() is policy
        assert asyncio.get_event_loop() is mine
    finally:
        asyncio.set_event_loop(None)
        mine.close()


@pytest.mark.parametrize("fails", [False, True])
def test_leftovers_are_cancelled_oldest_first(fails: bool) -> None:
    ended: list[int] = []

    async def leftover(n: int) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(1)
            ended.append(n)

    async def main() -> str:
        for n in range(20):
            asyncio.create_task(leftover(n))  # noqa: RUF006
        await asyncio.sleep(1)
        if fails:
            raise ValueError
        return "result"

    if fails:
        with pytest.raises(ValueError):
            run(main)
    else:
        assert run(main) == "result"
    assert ended == list(range(20))


def test_a_leftover_that_fails_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    async def leftover() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise ValueError("while cleaning up")

    async def main() -> None:
        asyncio.create_task(leftover(), name="untidy")  # noqa: RUF006
        await asyncio.sleep(1)

    run(main)
    assert "untidy was left over and failed when it was cancelled" in caplog.text


def test_a_call_that_blocks_lets_time_pass_and_nobody_run() -> None:
    beats: list[int] = []

    async def heart(loop: VirtualTimeLoop) -> None:
        while True:
            await asyncio.sleep(0.01)
            beats.append(loop.now_us())

    async def main() -> int:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        beating = loop.create_task(heart(loop))
        await asyncio.sleep(0.015)
        loop.block(300_000)
        await asyncio.sleep(0.02)
        beating.cancel()
        return loop.turns

    assert run(main) > 3
    assert beats == [10_000, 315_000, 325_000]
