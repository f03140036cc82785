"""Finds what an object keeps for each request by looking at it, not by asking it.

A reader may replace the two maps by anything, so everything that the object and
the reader's module reach through containers and through the reader's own
classes is looked at: a uid as a key or an element, or an element with that
``uid``, means that something is kept there. What has no uid shows by its size.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from types import FunctionType, ModuleType

DEPTH = 6
"""How deep containers in containers are followed."""

MANY = 6
"""Requests one after another that show whether each leaves something behind: so often nothing is made that
is made once, or now and then.
"""

Kept = set[tuple[str, int]]
"""(where, uid)"""

_SEQUENCES = (list, tuple, set, frozenset, deque)


class Keeping:
    """Looks at one object. What looks like a uid when it is new is a constant, and does not count."""

    def __init__(self, kept_by: object, module: ModuleType | None) -> None:
        self._kept_by = kept_by
        self._module = module
        self._at_first: Kept = set()
        self._at_first = self.now()

    def now(self) -> Kept:
        uids = ((name, _uid_of(element)) for name, element in self._elements())
        return {(name, uid) for name, uid in uids if uid is not None} - self._at_first

    def sizes(self) -> dict[str, int]:
        """How many elements there are, by where they are."""
        return Counter(name for name, _ in self._elements())

    def _elements(self) -> Iterator[tuple[str, object]]:
        seen: set[int] = set()
        for name, value in self._roots():
            yield from self._within(name, value, seen, DEPTH)

    def _roots(self) -> Iterator[tuple[str, object]]:
        yield from _attributes(self._kept_by)
        if self._module is None:
            return
        for name, value in vars(self._module).items():
            if name.startswith("__"):
                continue
            if isinstance(value, type) and self._is_readers(value):
                yield from ((f"{name}.{attribute}", each) for attribute, each in vars(value).items())
            else:
                yield name, value

    def _is_readers(self, cls: type) -> bool:
        return self._module is not None and cls.__module__ == self._module.__name__

    def _within(self, name: str, value: object, seen: set[int], depth: int) -> Iterator[tuple[str, object]]:
        """All elements of the containers that ``value`` is or leads to."""
        if depth == 0 or id(value) in seen:
            return
        if isinstance(value, FunctionType | ModuleType | type | str | bytes | int | float):
            return
        seen.add(id(value))
        if isinstance(value, dict):
            # A number as a value is an amount.
            elements = [*value, *(each for each in list(value.values()) if type(each) is not int)]
        else:
            elements = list(value) if isinstance(value, _SEQUENCES) else []
        for element in elements:
            yield name, element
            yield from self._within(name, element, seen, depth - 1)
        if isinstance(value, asyncio.Queue):
            yield from self._within(name, vars(value).get("_queue"), seen, depth - 1)
        elif self._is_readers(type(value)) and value is not self._kept_by:
            for attribute, each in _attributes(value):
                yield from self._within(f"{name}.{attribute}", each, seen, depth - 1)


def sizes_of(objects: Iterable[object], module: ModuleType | None) -> dict[str, int]:
    """How many elements they have, all together, by where they are."""
    return sum((Counter(Keeping(each, module).sizes()) for each in objects), Counter())


def growing(sizes: Sequence[Mapping[str, int]]) -> list[str]:
    """Where there was more each time. What is made once, for the first one, does not count."""
    return sorted(
        where
        for where in sizes[-1]
        if all(later.get(where, 0) > one.get(where, 0) for one, later in pairwise(sizes[1:]))
    )


def grown(sizes: Sequence[Mapping[str, int]]) -> list[str]:
    """Where there was more when each of many requests began, and still more at the end."""
    return growing(sizes) if len(sizes) > MANY else []


def _attributes(value: object) -> Iterator[tuple[str, object]]:
    yield from getattr(value, "__dict__", {}).items()
    for cls in type(value).__mro__:
        slots = vars(cls).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(value, name):
                yield name, getattr(value, name)


def _uid_of(element: object) -> int | None:
    uid = element if type(element) is int else getattr(element, "uid", None)
    return uid if type(uid) is int else None
