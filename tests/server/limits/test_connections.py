"""What stands still is ended, and what moves, however slowly, is not."""

from __future__ import annotations

from dataclasses import dataclass, field

from minisgl_tutor.server.limits.connections import ConnectionWatch


@dataclass
class Transport:
    unsent: int = 0
    ended: str = ""

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def abort(self) -> None:
        self.ended = "aborted"

    def close(self) -> None:
        self.ended = "closed"


@dataclass(eq=False)
class Cycle:
    response_complete: bool = False


@dataclass(eq=False)
class Connection:
    cycle: Cycle | None = None
    transport: Transport = field(default_factory=Transport)


def ended_at(connection: Connection, watch: ConnectionWatch, change=lambda now: None) -> int | None:
    for now in range(100):
        change(now)
        watch.sweep([connection], float(now))
        if connection.transport.ended:
            return now
    return None


def test_a_connection_that_never_sends_a_whole_request_is_closed() -> None:
    connection = Connection()
    assert ended_at(connection, ConnectionWatch(idle_s=20, write_s=5)) == 20
    assert connection.transport.ended == "closed"


def test_a_connection_between_two_requests_is_closed_and_each_request_begins_anew() -> None:
    connection, cycles = Connection(), [Cycle(True), Cycle(True)]

    def change(now: int) -> None:
        connection.cycle = cycles[now >= 15]

    assert ended_at(connection, ConnectionWatch(20, 5), change) == 35


def test_a_request_that_took_the_place_of_another_in_memory_is_another_one() -> None:
    """CPython gives the memory of an object that was dropped to the next one of its size."""
    connection, places = Connection(Cycle(True)), []

    def change(now: int) -> None:
        places.append(id(connection.cycle))
        connection.cycle = None
        connection.cycle = Cycle(True)

    assert ended_at(connection, ConnectionWatch(20, 5), change) is None
    assert len(set(places)) < len(places), "else this shows nothing"


def test_one_that_waits_for_its_answer_is_kept() -> None:
    assert ended_at(Connection(Cycle()), ConnectionWatch(20, 5)) is None


def test_one_that_takes_nothing_is_cut_off() -> None:
    connection = Connection(Cycle(), Transport(unsent=1000))
    assert ended_at(connection, ConnectionWatch(20, 5)) == 5
    assert connection.transport.ended == "aborted"


def test_one_that_takes_nothing_of_a_complete_answer_is_cut_off_as_well() -> None:
    connection = Connection(Cycle(True), Transport(unsent=1000))
    assert ended_at(connection, ConnectionWatch(20, 5)) == 5
    assert connection.transport.ended == "aborted"


def test_one_that_takes_a_byte_now_and_then_is_kept() -> None:
    connection = Connection(Cycle(), Transport(unsent=1000))

    def change(now: int) -> None:
        connection.transport.unsent = 1000 - now // 4

    assert ended_at(connection, ConnectionWatch(20, 5), change) is None
