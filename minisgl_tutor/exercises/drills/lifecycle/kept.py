"""Finds what a front end keeps for each request by looking at it, not by asking it.

A reader may replace the two maps by anything, so everything that the object and
the reader's module reach through containers and through the reader's own
classes is looked at: a uid as a key or an element, or an element with that
``uid``, means that something is kept there.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from types import FunctionType, ModuleType

from ....server.frontend import FrontendManager

DEPTH = 6
"""How deep containers in containers are followed."""

Kept = set[tuple[str, int]]
"""(where, uid)"""

_SEQUENCES = (list, tuple, set, frozenset, deque)


class Keeping:
    """Looks at one front end. What looks like a uid when it is new is a constant, and does not count."""

    def __init__(self, frontend: FrontendManager, module: ModuleType | None) -> None:
        self._frontend = frontend
        self._module = module
        self._at_first: Kept = set()
        self._at_first = self.now()

    def now(self) -> Kept:
        found: Kept = set()
        seen: set[int] = set()
        for name, value in self._roots():
            self._look(name, value, found, seen, DEPTH)
        return found - self._at_first

    def _roots(self) -> Iterator[tuple[str, object]]:
        yield from vars(self._frontend).items()
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

    def _look(self, name: str, value: object, found: Kept, seen: set[int], depth: int) -> None:
        if depth == 0 or id(value) in seen:
            return
        if isinstance(value, FunctionType | ModuleType | type | str | bytes | int | float):
            return
        seen.add(id(value))
        if isinstance(value, dict):
            for key, each in list(value.items()):
                self._element(name, key, found, seen, depth)
                if type(each) is not int:  # a number as a value is an amount
                    self._element(name, each, found, seen, depth)
        elif isinstance(value, _SEQUENCES):
            for each in list(value):
                self._element(name, each, found, seen, depth)
        elif isinstance(value, asyncio.Queue):
            self._look(name, vars(value).get("_queue"), found, seen, depth - 1)
        elif self._is_readers(type(value)) and value is not self._frontend:
            for attribute, each in vars(value).items() if hasattr(value, "__dict__") else ():
                self._look(f"{name}.{attribute}", each, found, seen, depth - 1)

    def _element(self, name: str, element: object, found: Kept, seen: set[int], depth: int) -> None:
        uid = element if type(element) is int else getattr(element, "uid", None)
        if type(uid) is int:
            found.add((name, uid))
        self._look(name, element, found, seen, depth - 1)
