"""A schedule: which clients come, how much they are answered, and how each one's request ends.

It names instants by what happens ("after the second reply"), not by a clock.
:mod:`.score` works the times out. The smaller a schedule, the easier it is to
follow; :func:`smaller` is what the search for the shortest one tries next.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from enum import StrEnum

import msgspec
from msgspec.structs import replace

STEP_MS = 100
"""An engine step, of virtual time. Long, so that every way of noticing a client that leaves is in time."""

LONG_STEPS = 6_000
"""Ten minutes: longer than any time limit that somebody may put on an answer."""

ANSWER_AFTER_LEAVING = 4
"""Replies still to come when a client leaves: enough for any way of noticing it to be in time."""


class Ending(StrEnum):
    """How one client's request ends."""

    STAYS = "stays"
    """It reads the whole answer."""
    LEAVES_WAITING = "leaves while it waits"
    """It leaves between two replies."""
    LEAVES_WRITING = "leaves as it is written to"
    """It is gone when the server sends it a chunk."""
    LEAVES_STUCK = "leaves with a chunk under way"
    """It reads slowly, and leaves while the server waits to send."""
    LEAVES_AT_END = "leaves at the end"
    """It leaves at the instant at which its finished reply arrives."""
    REFUSED = "is refused"
    """An error reply comes in the place of the first reply: its prompt is too long."""
    BREAKS = "breaks off"
    """An error reply comes in the middle of the answer."""
    UNSENT = "is not sent"
    """The link to the tokenizer raises when the request is sent."""
    UNENCODABLE = "cannot be encoded"
    """A piece of its answer cannot be encoded: the consumer raises."""


class Extra(StrEnum):
    """What else happens to the first client's request."""

    NOTHING = ""
    ANOTHER_REPLY = "another reply follows the finished one in the same batch"
    LATE_REPLIES = "replies for it still come after its end"
    ABORT_FIRST = "abort_user is called just before the client leaves"
    ABORT_AFTER = "abort_user is called just after the client leaves"
    ABORT_AT_END = "abort_user is called while the last chunk is on its way"
    ABORT_UNSENT = "its abort is not sent"
    """The link to the tokenizer raises when the abort is sent."""
    ANOTHER_MESSAGE = "receive gives another message first"
    """Behind the body ``receive()`` gives an empty ``http.request``, and only then what happens."""
    SEND_CANCELLED = "its sending is cancelled"
    """Instead of a failure of the link, for a request that is not sent."""


LEAVES = frozenset({Ending.LEAVES_WAITING, Ending.LEAVES_WRITING, Ending.LEAVES_STUCK, Ending.LEAVES_AT_END})
ON_THE_DESK = frozenset({Ending.BREAKS, Ending.UNSENT, Ending.UNENCODABLE})
"""No recording of a server can hold these: they are played against the front end alone."""


class Client(msgspec.Struct, frozen=True):
    """One client. Its answer has ``replies`` replies, the last one finished.

    ``ending`` happens when it has had ``after`` replies. It comes ``start``
    engine steps after the beginning. ``pauses``: how many steps bring nothing before
    each of its replies, where there is none, none; -1: it comes in the batch before.
    """

    stream: bool
    replies: int
    ending: Ending = Ending.STAYS
    after: int = 0
    start: int = 0
    pauses: tuple[int, ...] = ()

    @property
    def leaves(self) -> bool:
        return self.ending in LEAVES


class Schedule(msgspec.Struct, frozen=True):
    """All clients, in the order in which they come; ``spec`` is the ASGI version that the server declares."""

    clients: tuple[Client, ...]
    spec: str = "2.3"
    extra: Extra = Extra.NOTHING

    @property
    def needs_desk(self) -> bool:
        """Whether no recording can hold it."""
        return self.extra is not Extra.NOTHING or any(
            each.pauses or each.ending in ON_THE_DESK for each in self.clients
        )

    def size(self) -> tuple[int, ...]:
        """For choosing the shortest: clients, then replies, then what makes it harder to follow."""
        return (
            len(self.clients),
            self.needs_desk,
            sum(each.replies for each in self.clients),
            sum(each.ending is not Ending.STAYS for each in self.clients),
            sum(each.after + each.start + sum(each.pauses) for each in self.clients),
            self.spec != "2.3",
        )


def undisturbed(schedule: Schedule) -> Schedule:
    """The same requests, whose clients all stay and read at once."""
    stay = {each: Ending.STAYS for each in (*LEAVES, Ending.UNENCODABLE)}
    clients = tuple(replace(each, ending=stay.get(each.ending, each.ending)) for each in schedule.clients)
    return Schedule(clients, "2.3")


def smaller(schedule: Schedule) -> Iterator[Schedule]:
    """Schedules that differ in one thing and are easier to follow, the boldest step first."""
    for index in range(len(schedule.clients) if len(schedule.clients) > 1 else 0):
        if index == 0 and schedule.extra is not Extra.NOTHING:
            continue
        rest = schedule.clients[:index] + schedule.clients[index + 1 :]
        first = min(each.start for each in rest)
        yield replace(schedule, clients=tuple(replace(each, start=each.start - first) for each in rest))
    for index, client in enumerate(schedule.clients):
        for simpler in _simpler(client):
            clients = [*schedule.clients[:index], simpler, *schedule.clients[index + 1 :]]
            yield replace(schedule, clients=in_order(clients))
    if schedule.spec != "2.3":
        yield replace(schedule, spec="2.3")


def in_order(clients: list[Client]) -> tuple[Client, ...]:
    """By their start, so that a client's place is its request's uid."""
    return tuple(sorted(clients, key=lambda each: each.start))


def _simpler(client: Client) -> Iterator[Client]:
    if client.ending is not Ending.STAYS:
        yield replace(client, ending=Ending.STAYS, after=0)
    if client.pauses:
        yield replace(client, pauses=client.pauses[1:])
    if client.start:
        yield replace(client, start=client.start - 1)
    if client.after > least_after(client.ending):
        yield replace(client, after=client.after - 1)
    if client.replies > least_replies(client):
        yield replace(client, replies=client.replies - 1)


def least_after(ending: Ending) -> int:
    return int(ending in (Ending.LEAVES_STUCK, Ending.BREAKS))


def least_replies(client: Client) -> int:
    if client.ending is Ending.LEAVES_AT_END:
        return 1
    if client.leaves:
        return client.after + ANSWER_AFTER_LEAVING + (client.ending is Ending.LEAVES_STUCK)
    return client.after + 1


def client(stream: bool, ending: Ending = Ending.STAYS, after: int = 0, start: int = 0) -> Client:
    """The client with the shortest answer for its ending."""
    bare = Client(stream, 0, ending, after, start)
    return replace(bare, replies=least_replies(bare))


ANY_RECORDED = (Ending.STAYS, Ending.STAYS, *sorted(LEAVES), Ending.REFUSED)
ANY = (*ANY_RECORDED, *sorted(ON_THE_DESK))


def random_schedule(rng: random.Random, endings: tuple[Ending, ...]) -> Schedule:
    """Two to four clients; what it is depends on ``rng`` alone."""
    clients = []
    for _ in range(rng.randint(2, 4)):
        ending = rng.choice(endings)
        stream = rng.random() < 0.6 or ending in (Ending.LEAVES_WRITING, Ending.LEAVES_STUCK)
        after = least_after(ending) + rng.randint(0, 2)
        if ending in (Ending.REFUSED, Ending.UNSENT, Ending.STAYS, Ending.LEAVES_AT_END):
            after = 0
        shortest = client(stream, ending, after, rng.randint(0, 3))
        clients.append(replace(shortest, replies=shortest.replies + rng.randint(0, 3)))
    first = min(each.start for each in clients)
    shifted = [replace(each, start=each.start - first) for each in clients]
    return Schedule(in_order(shifted), rng.choice(("2.3", "2.4")))
