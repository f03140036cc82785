"""What one scheduler receives, the others have in the same round."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from minisgl_tutor.links.relay import NoPush, RoundLost, ZmqRelay, ZmqRelayedPull
from minisgl_tutor.links.zmq_queue import ZmqPullQueue, ZmqPushQueue
from minisgl_tutor.message import AbortBackendMsg, BatchBackendMsg, encode


@pytest.fixture
def others(tmp_path: Path) -> Iterator[list[ZmqRelayedPull]]:
    pulls = [ZmqRelayedPull(f"ipc://{tmp_path / str(rank)}", "relayed") for rank in (1, 2)]
    yield pulls
    for pull in pulls:
        pull.close()


@pytest.fixture
def relay(others: list[ZmqRelayedPull]) -> Iterator[ZmqRelay]:
    relay = ZmqRelay([pull.address for pull in others])
    yield relay
    relay.close()


def test_a_round_is_a_round_whatever_is_in_it(relay: ZmqRelay, others: list[ZmqRelayedPull]) -> None:
    one, two, three = (AbortBackendMsg(uid) for uid in (1, 2, 3))
    relay([encode(BatchBackendMsg([one, two])), encode(three)])
    relay([])
    relay([encode(two)])
    for pull in others:
        assert pull.drain(blocking=True) == [one, two, three]
        assert pull.drain(blocking=True) == []
        assert pull.drain(blocking=False) == [two]


def test_the_frames_of_each_drain_are_relayed_as_they_came(tmp_path: Path) -> None:
    seen: list[list[bytes]] = []
    pull = ZmqPullQueue(f"ipc://{tmp_path / 'first'}", "scheduler", relay=seen.append)
    push = ZmqPushQueue(f"ipc://{tmp_path / 'first'}", "scheduler")
    assert pull.drain(blocking=False) == []
    push.put(AbortBackendMsg(4))
    assert pull.drain(blocking=True) == [AbortBackendMsg(4)]
    assert seen == [[], [encode(AbortBackendMsg(4))]]
    push.close(), pull.close()


def test_a_malformed_frame_is_dropped_by_all(relay: ZmqRelay, others: list[ZmqRelayedPull]) -> None:
    relay([b"?", encode(AbortBackendMsg(1))])
    assert [pull.drain(blocking=True) for pull in others] == [[AbortBackendMsg(1)]] * 2


def test_a_round_that_is_not_the_next_one(relay: ZmqRelay, others: list[ZmqRelayedPull]) -> None:
    relay([])
    relay([])
    others[0]._socket.recv_multipart()
    with pytest.raises(RoundLost, match="round 2 came in the place of 1"):
        others[0].drain(blocking=True)


def test_the_loss_of_either_end_is_noticed_by_the_other(tmp_path: Path) -> None:
    lost = [threading.Event(), threading.Event()]
    for which in (0, 1):
        pull = ZmqRelayedPull(f"ipc://{tmp_path / str(which)}", "relayed")
        relay = ZmqRelay([pull.address])
        ends = [relay, pull]
        relay([])
        pull.drain(blocking=True)
        ends[which].on_loss(lost[which].set)
        ends[1 - which].close()
        assert lost[which].wait(30)
        ends[which].close()


def test_a_port_of_its_own_on_any_machine() -> None:
    pull = ZmqRelayedPull("tcp://127.0.0.1:*", "relayed")
    relay = ZmqRelay([pull.address])
    relay([encode(AbortBackendMsg(8))])
    assert pull.address.startswith("tcp://127.0.0.1:") and not pull.address.endswith(("*", ":0"))
    assert pull.drain(blocking=True) == [AbortBackendMsg(8)]
    relay.close(), pull.close()
    NoPush().put(AbortBackendMsg(8))
