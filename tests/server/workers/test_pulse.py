"""Signs of life: what a worker says of itself, and what is made of its silence."""

from __future__ import annotations

import os
import time
from multiprocessing import Pipe

import msgspec
import pytest

from minisgl_tutor.server.config import Limits
from minisgl_tutor.server.health import OK
from minisgl_tutor.server.operations.watch import Pulses
from minisgl_tutor.server.workers.pulse import (
    LENGTH_BYTES,
    Amount,
    Beat,
    Pulse,
    amounts,
    at_rest,
    by_request,
    framed,
    in_sums,
    no_gauges,
    take,
)

LIMITS = Limits(hung_after=10, stuck_after=60)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_amounts_count_requests_and_sum_up() -> None:
    held = {1: {"waiting": 1, "pages": 3}, 2: {"running": 1, "pages": 4}}
    assert amounts(held) == {"waiting": Amount(1, 1), "running": Amount(1, 1), "pages": Amount(2, 7)}


def test_a_map_that_changes_while_it_is_read_is_read_again() -> None:
    tries = []

    def held() -> dict[int, dict[str, int]]:
        tries.append(1)
        if len(tries) < 3:
            raise RuntimeError("dictionary changed size during iteration")
        return {1: {"decode_map": 5}}

    assert take(held, no_gauges, at_rest).held == {"decode_map": Amount(1, 5)}


def test_a_loop_that_waits_is_in_no_round_and_one_that_works_says_for_how_long() -> None:
    assert take(dict, no_gauges, at_rest).round_s == 0
    assert take(dict, no_gauges, lambda: time.monotonic() - 5).round_s >= 5


@pytest.mark.parametrize(("tell", "told"), [(in_sums, {}), (by_request, {3: {"slot": 1}})])
def test_a_worker_beats_until_nobody_listens(tell, told) -> None:
    beats, pipe = Pipe(duplex=False)
    Pulse(pipe, tell).start(held=lambda: {3: {"slot": 1}}, gauges=lambda: {"slots": 4.0})
    length = int.from_bytes(os.read(beats.fileno(), LENGTH_BYTES), "big")
    beat = msgspec.msgpack.decode(os.read(beats.fileno(), length), type=Beat)
    assert beat == Beat(0.0, {"slot": Amount(1, 1)}, {"slots": 4.0}, told, beat.taken)
    assert 0 < beat.taken <= time.monotonic()
    beats.close()  # the thread sees it at its next beat


@pytest.fixture
def pipes():
    ends = {name: Pipe(duplex=False) for name in ("scheduler", "tokenizer")}
    yield ends
    for end in ends.values():
        for pipe in end:
            pipe.close()


def watch(pipes, clock: Clock) -> Pulses:
    return Pulses({name: reading for name, (reading, _) in pipes.items()}, LIMITS, clock)


def give(pipes, name: str, beat: Beat) -> None:
    send(pipes, name, framed(beat))


def send(pipes, name: str, data: bytes) -> None:
    os.write(pipes[name][1].fileno(), data)


def test_silence_is_noticed_for_the_one_that_is_silent_and_forgiven(pipes) -> None:
    clock = Clock()
    pulses = watch(pipes, clock)
    clock.now = 109.0
    give(pipes, "tokenizer", Beat())
    assert pulses.conditions() == {"scheduler": OK, "tokenizer": OK}
    clock.now = 110.0
    assert pulses.conditions() == {"scheduler": "has given no sign of life for 10 s", "tokenizer": OK}
    give(pipes, "scheduler", Beat())
    assert pulses.conditions() == {"scheduler": OK, "tokenizer": OK}


def test_a_parent_that_was_held_up_itself_hears_what_came_meanwhile(pipes) -> None:
    clock = Clock()
    pulses = watch(pipes, clock)
    for name in pipes:
        give(pipes, name, Beat())
    clock.now = 1000.0
    assert set(pulses.conditions().values()) == {OK}


def test_a_long_step_is_no_fault_until_it_is_far_too_long(pipes) -> None:
    pulses = watch(pipes, Clock())
    give(pipes, "scheduler", Beat(round_s=59.0))
    assert pulses.conditions()["scheduler"] == OK
    give(pipes, "scheduler", Beat(round_s=61.0))
    assert pulses.conditions()["scheduler"] == "has been in one step for 61 s"


def test_what_cannot_be_read_is_a_sign_all_the_same_and_an_end_is_none(pipes) -> None:
    pulses = watch(pipes, Clock())
    send(pipes, "scheduler", b"\0\0\0\1\xff")
    pipes["tokenizer"][1].close()
    assert pulses.conditions() == {"scheduler": OK, "tokenizer": OK}
    assert pulses.conditions() == {"scheduler": OK, "tokenizer": OK}


@pytest.mark.parametrize("come", [0, 2, LENGTH_BYTES, LENGTH_BYTES + 9])
def test_nobody_waits_for_the_rest_of_a_beat_whose_worker_is_stopped(pipes, come: int) -> None:
    clock = Clock()
    pulses = watch(pipes, clock)
    beat = Beat(requests={uid: {"pages": uid} for uid in range(99)})
    send(pipes, "scheduler", framed(Beat(1.0)) + framed(beat)[:come])
    clock.now = 111.0
    assert pulses.conditions()["scheduler"] == OK
    assert pulses.beats["scheduler"] == Beat(1.0)
    send(pipes, "scheduler", framed(beat)[come:])
    pulses.listen()
    assert pulses.beats["scheduler"] == beat


def test_a_beat_that_is_longer_than_a_pipe_comes_through_in_pieces(pipes) -> None:
    pulses = watch(pipes, Clock())
    beat = Beat(requests={uid: {"pages": uid} for uid in range(20_000)})
    Pulse(pipes["scheduler"][1], by_request).start(held=lambda: beat.requests)
    while pulses.beats["scheduler"].requests != beat.requests:
        pulses.listen()
