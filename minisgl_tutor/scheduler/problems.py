"""What may be wrong with the scheduler's books: as data, and as the sentence that is made of it."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from ..language import Sentence

Thing = Literal["request", "slot", "page", "reservation", "prefix"]
"""What is counted wrongly."""

Kind = Literal[
    "not-awaited",
    "ended-queued",
    "retracted-running",
    "out-of-order",
    "idle-draining",
    "steps-miscounted",
    "step-of-nobody",
    "slot-twice",
    "slots-lost",
    "wishes-miscounted",
    "page-twice",
    "pages-lost",
    "need-miscounted",
    "share-miscounted",
    "pages-short",
    "reserved-miscounted",
    "reserved-too-many",
    "locks-miscounted",
    "lock-of-nobody",
    "evictable-miscounted",
    "node-uneven",
    "node-misplaced",
    "leaf-stuck",
]


class Place(NamedTuple):
    """Where a slot or a page is. ``uid`` is the request that uses it."""

    state: Literal["free", "cached", "used"]
    uid: int | None = None

    @property
    def sentence(self) -> Sentence:
        match self.state:
            case "free":
                return Sentence("free")
            case "cached":
                return Sentence("cached")
            case "used":
                return Sentence("used by request {uid}", uid=self.uid)


class _Said(NamedTuple):
    thing: Thing
    sentence: Sentence
    where_twice: Sentence | None = None
    """If both places are one and the same."""


_SAID: dict[Kind, _Said] = {
    "not-awaited": _Said(
        "request",
        Sentence(
            "requests {awaited} await a terminal reply, but {alive} are waiting, running, or aborted and "
            "draining"
        ),
    ),
    "ended-queued": _Said("request", Sentence("request {uid} has ended but is still queued")),
    "retracted-running": _Said("request", Sentence("request {uid} is retracted but still running")),
    "out-of-order": _Said(
        "request", Sentence("requests {uids} arrived in this order, but take their turns otherwise")
    ),
    "idle-draining": _Said("request", Sentence("request {uid} is draining without a step in flight")),
    "steps-miscounted": _Said(
        "request", Sentence("request {uid} counts {steps} steps in flight; there are {due}")
    ),
    "step-of-nobody": _Said(
        "request", Sentence("a step in flight uses a request that holds nothing any more")
    ),
    "slot-twice": _Said(
        "slot",
        Sentence("slot {number} is {one} and {other} at once"),
        Sentence("slot {number} is {one} twice"),
    ),
    "slots-lost": _Said("slot", Sentence("slots {numbers} are lost: neither free, cached nor in use")),
    "wishes-miscounted": _Said(
        "slot", Sentence("slots {marked} are marked as having wishes, but {wishing} have")
    ),
    "page-twice": _Said(
        "page",
        Sentence("page {number} is {one} and {other} at once"),
        Sentence("page {number} is {one} twice"),
    ),
    "pages-lost": _Said("page", Sentence("pages {numbers} are lost: neither free, cached nor in use")),
    "need-miscounted": _Said(
        "request",
        Sentence("request {uid} has {pages} pages and {rest} to come, but may come to need {need}"),
    ),
    "share-miscounted": _Said("request", Sentence("request {uid} has {reserved} of {rest} pages reserved")),
    "pages-short": _Said("request", Sentence("request {uid} has {pages} pages for {positions} positions")),
    "reserved-miscounted": _Said(
        "reservation", Sentence("{reserved} pages are reserved, counted as {noted}")
    ),
    "reserved-too-many": _Said("reservation", Sentence("{reserved} pages are reserved: {surplus} too many")),
    "locks-miscounted": _Said(
        "prefix", Sentence("cache node of pages {pages} counts {locks} locks; requests have {due}")
    ),
    "lock-of-nobody": _Said(
        "prefix", Sentence("a lock points to a node that is no longer in the prefix tree")
    ),
    "evictable-miscounted": _Said(
        "prefix", Sentence("{evictable} cached pages are evictable, counted as {noted}")
    ),
    "node-uneven": _Said("prefix", Sentence("cache node has {pages} pages for {tokens} tokens")),
    "node-misplaced": _Said(
        "prefix", Sentence("cache node of pages {pages} is not where its parent looks for it")
    ),
    "leaf-stuck": _Said("prefix", Sentence("unlocked leaf of pages {pages} can never be evicted")),
}


class IntegrityError(AssertionError):
    """Books that do not add up: a fault of the scheduler.

    ``kind`` is what is wrong, ``thing`` of what, and ``uid`` the first request that it is about, if
    any; ``places`` are the two of a thing that is in two at once. The message says all this.
    """

    def __init__(
        self, kind: Kind, uid: int | None = None, places: tuple[Place, ...] = (), **values: Any
    ) -> None:
        said = _SAID[kind]
        self.kind = kind
        self.thing = said.thing
        self.places = places
        named = [uid, *(place.uid for place in places)]
        self.uid = next((each for each in named if each is not None), None)
        known = {} if uid is None else {"uid": uid}
        sentence = said.sentence
        if said.where_twice is not None and len(set(places)) == 1:
            sentence = said.where_twice
        super().__init__(sentence.with_values(**known, **values))
