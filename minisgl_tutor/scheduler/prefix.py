"""What the scheduler asks of a prefix cache, and the cache that keeps nothing.

A prefix cache holds pages whose K/V is computed, by the tokens they stand for,
in whole pages. Its pages are its own: they are neither free nor any request's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from .radix import Node


@dataclass(frozen=True, slots=True)
class Prefix:
    """A cached beginning of a sequence: the cache's ``pages``, in order, and the ``node`` it ends at."""

    pages: list[int] = field(default_factory=list)
    node: Node | None = None


class PrefixCache(Protocol):
    """Found prefixes may be evicted by the next call unless they are locked."""

    @property
    def evictable(self) -> int:
        """Pages that :meth:`evict` can give back now."""
        ...

    def match(self, token_ids: np.ndarray) -> Prefix:
        """The longest cached beginning of ``token_ids``, in whole pages."""
        ...

    def insert(self, token_ids: np.ndarray, pages: Sequence[int]) -> Prefix:
        """Keeps a computed sequence of whole pages.

        Where the cache has a page already it keeps that one, and the caller's
        stays the caller's. The result holds the cache's page for each position
        kept: the caller's own where the cache took it over.
        """
        ...

    def lock(self, prefix: Prefix) -> None:
        """Its pages stay until as many calls of :meth:`unlock`. Counts as a use."""
        ...

    def unlock(self, prefix: Prefix) -> None: ...

    def evict(self, count: int) -> list[int]:
        """Gives ``count`` pages back, the least recently used first; at most ``evictable``."""
        ...

    def path(self, prefix: Prefix) -> list[int]:
        """The cache's pages from the first position to the end of ``prefix``, as they are now."""
        ...

    def check(self, locked: Sequence[Prefix]) -> list[int]:
        """All pages held, after checking structure and counts, with exactly ``locked`` being locked.

        Raises:
            IntegrityError: something does not add up.
        """
        ...


class NaiveCache:
    """Keeps nothing: each request computes its whole prompt."""

    evictable = 0

    def match(self, token_ids: np.ndarray) -> Prefix:
        return Prefix()

    def insert(self, token_ids: np.ndarray, pages: Sequence[int]) -> Prefix:
        return Prefix()

    def lock(self, prefix: Prefix) -> None:
        pass

    def unlock(self, prefix: Prefix) -> None:
        pass

    def evict(self, count: int) -> list[int]:
        return []

    def path(self, prefix: Prefix) -> list[int]:
        return []

    def check(self, locked: Sequence[Prefix]) -> list[int]:
        return []
