"""Both kinds of link behave alike: order, batches, malformed frames, observers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import zmq

from minisgl_tutor.links import (
    MemoryAsyncPull,
    MemoryAsyncPush,
    MemoryChannel,
    MemoryPull,
    MemoryPush,
)
from minisgl_tutor.links.zmq_queue import ZmqAsyncPullQueue, ZmqAsyncPushQueue, ZmqPullQueue, ZmqPushQueue
from minisgl_tutor.message import AbortMsg, BatchTokenizerMsg, DetokenizeMsg


@dataclass
class Watcher:
    hops: list[tuple] = field(default_factory=list)

    def sent(self, link, msg):
        self.hops.append(("sent", link, msg))

    def received(self, link, msgs):
        self.hops.append(("received", link, msgs))


@dataclass
class Ends:
    push: Callable
    pull: Callable
    async_push: Callable
    async_pull: Callable
    raw: Callable[[bytes], None]
    watcher: Watcher


@pytest.fixture(params=["memory", "zmq"])
def ends(request, tmp_path: Path) -> Iterator[Ends]:
    watcher = Watcher()
    if request.param == "memory":
        channel = MemoryChannel("a>b", watcher)
        yield Ends(
            lambda: MemoryPush(channel),
            lambda: MemoryPull(channel),
            lambda: MemoryAsyncPush(channel),
            lambda: MemoryAsyncPull(channel),
            channel.arrive,
            watcher,
        )
        return
    address = f"ipc://{tmp_path}/l"

    def raw(frame: bytes) -> None:
        socket = zmq.Context.instance().socket(zmq.PUSH)
        socket.connect(address)
        socket.send(frame)
        socket.close()

    yield Ends(
        lambda: ZmqPushQueue(address, "a>b", watcher),
        lambda: ZmqPullQueue(address, "a>b", watcher),
        lambda: ZmqAsyncPushQueue(address, "a>b", watcher),
        lambda: ZmqAsyncPullQueue(address, "a>b", watcher),
        raw,
        watcher,
    )


def drain(pull, count: int) -> list:
    msgs: list = []
    while len(msgs) < count:
        msgs += pull.drain(blocking=True)
    return msgs


def test_messages_come_in_order_and_batches_come_flat(ends):
    pull, push = ends.pull(), ends.push()
    push.put(AbortMsg(1))
    push.put(BatchTokenizerMsg([DetokenizeMsg(2, 5), AbortMsg(3)]))
    push.put(AbortMsg(4))
    assert drain(pull, 4) == [AbortMsg(1), DetokenizeMsg(2, 5), AbortMsg(3), AbortMsg(4)]
    assert pull.drain(blocking=False) == []
    push.close()
    pull.close()


def test_a_malformed_frame_is_dropped_and_the_link_lives(ends, caplog):
    pull, push = ends.pull(), ends.push()
    ends.raw(b"\x80\x04nonsense")
    push.put(AbortMsg(1))
    assert drain(pull, 1) == [AbortMsg(1)]
    while "malformed" not in caplog.text:
        pull.drain(blocking=False)
    push.close()
    pull.close()


def test_the_asynchronous_ends_carry_the_same(ends, caplog):
    async def main():
        pull, push = ends.async_pull(), ends.async_push()
        ends.raw(b"nonsense")
        push.put_nowait(AbortMsg(1))
        await push.put(BatchTokenizerMsg([AbortMsg(2), AbortMsg(3)]))
        got = [await pull.get(), await pull.get()]
        assert got == [AbortMsg(1), BatchTokenizerMsg([AbortMsg(2), AbortMsg(3)])]
        push.close()
        pull.close()

    asyncio.run(main())


def test_an_observer_sees_both_ends_of_each_hop(ends):
    pull, push = ends.pull(), ends.push()
    push.put(AbortMsg(7))
    drain(pull, 1)
    assert ends.watcher.hops == [("sent", "a>b", AbortMsg(7)), ("received", "a>b", [AbortMsg(7)])]
    push.close()
    pull.close()


def test_a_sender_may_start_before_its_receiver(tmp_path):
    address = f"ipc://{tmp_path}/l"
    push = ZmqPushQueue(address, "a>b")
    for uid in range(5000):  # more than the usual high-water mark
        push.put(AbortMsg(uid))
    pull = ZmqPullQueue(address, "a>b")
    assert drain(pull, 5000) == [AbortMsg(uid) for uid in range(5000)]
    push.close()
    pull.close()
