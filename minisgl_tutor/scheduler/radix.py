"""A prefix cache as a radix tree over whole pages of tokens.

Each edge (kept in the node it leads to) holds one or more pages. Two children
of a node differ in their first page. A lock counts on every node from the end
of the prefix up to the root, so an unlocked node has no locked one below it and
all unlocked pages can be evicted, leaf by leaf.

Time is a counter of uses, so the same calls evict the same pages everywhere.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from .prefix import Prefix
from .problems import IntegrityError


class Node:
    """The tokens ``key`` behind those of ``parent``, and the ``pages`` that hold their K/V."""

    __slots__ = ("children", "key", "last_used", "locks", "pages", "parent", "queued", "serial")

    def __init__(
        self, key: np.ndarray, pages: list[int], parent: Node | None, serial: int = 0, last_used: int = 0
    ) -> None:
        self.key = key
        self.pages = pages
        self.parent = parent
        self.serial = serial
        self.children: dict[bytes, Node] = {}
        self.locks = 0
        self.last_used = last_used
        self.queued = False

    def upwards(self) -> Iterator[Node]:
        """This node and its ancestors, without the root."""
        node = self
        while node.parent is not None:
            yield node
            node = node.parent


class RadixCache:
    """See ``PrefixCache`` for the contract of each method."""

    def __init__(self, page_size: int) -> None:
        self._page_size = page_size
        self._root = Node(np.empty(0, np.int32), [], None)
        self._serial = 0
        self._clock = 0
        # Unlocked leaves by last use, at most one entry a node. An entry may be out of date: see evict().
        self._leaves: list[tuple[int, int, Node]] = []
        self.evictable = 0

    def match(self, token_ids: np.ndarray) -> Prefix:
        node, pages = self._root, list[int]()
        rest = token_ids
        while len(rest) >= self._page_size:
            child = node.children.get(self._first_page(rest))
            if child is None:
                break
            common = self._common_pages(child.key, rest)
            node = child if common == len(child.pages) else self._split(child, common)
            pages += node.pages
            rest = rest[len(node.key) :]
        return Prefix(pages, node)

    def insert(self, token_ids: np.ndarray, pages: Sequence[int]) -> Prefix:
        found = self.match(token_ids)
        assert found.node is not None
        self._touch(found.node)
        new = list(pages[len(found.pages) :])
        if not new:
            return found
        # A copy: the request's array is longer and lives on.
        key = np.array(token_ids[len(found.pages) * self._page_size :], np.int32)
        leaf = self._attach(key, new, found.node)
        self.evictable += len(new)
        self._queue(leaf)
        return Prefix(found.pages + new, leaf)

    def lock(self, prefix: Prefix) -> None:
        assert prefix.node is not None
        self._touch(prefix.node)
        for node in prefix.node.upwards():
            if node.locks == 0:
                self.evictable -= len(node.pages)
            node.locks += 1

    def unlock(self, prefix: Prefix) -> None:
        assert prefix.node is not None
        for node in prefix.node.upwards():
            node.locks -= 1
            if node.locks == 0:
                self.evictable += len(node.pages)
                self._queue(node)

    def evict(self, count: int) -> list[int]:
        freed: list[int] = []
        while len(freed) < count and self._leaves:
            last_used, _, node = heapq.heappop(self._leaves)
            node.queued = False
            # A lock or a new child counts as a use, so what is up to date is an unlocked leaf.
            if node.last_used != last_used:
                self._queue(node)
                continue
            keep = max(0, len(node.pages) - (count - len(freed)))
            freed += node.pages[keep:]
            self.evictable -= len(node.pages) - keep
            if keep:
                node.pages = node.pages[:keep]
                node.key = node.key[: keep * self._page_size]
                self._queue(node)
            else:
                self._detach(node)
        return freed

    def path(self, prefix: Prefix) -> list[int]:
        pages: list[int] = []
        if prefix.node is not None:
            for node in reversed(list(prefix.node.upwards())):
                pages += node.pages
        return pages

    def check(self, locked: Sequence[Prefix]) -> list[int]:
        locks = Counter(node for prefix in locked if prefix.node for node in prefix.node.upwards())
        pages: list[int] = []
        evictable = 0
        for node in self._nodes():
            self._check_node(node)
            if node.locks != (due := locks.pop(node, 0)):
                raise IntegrityError("locks-miscounted", pages=node.pages, locks=node.locks, due=due)
            if not node.locks:
                evictable += len(node.pages)
            pages += node.pages
        if locks:
            raise IntegrityError("lock-of-nobody")
        if evictable != self.evictable:
            raise IntegrityError("evictable-miscounted", evictable=evictable, noted=self.evictable)
        return pages

    def _check_node(self, node: Node) -> None:
        if not node.pages or len(node.key) != len(node.pages) * self._page_size:
            raise IntegrityError("node-uneven", pages=len(node.pages), tokens=len(node.key))
        if node.parent is None or node.parent.children.get(self._first_page(node.key)) is not node:
            raise IntegrityError("node-misplaced", pages=node.pages)
        if not node.locks and not node.children and not node.queued:
            raise IntegrityError("leaf-stuck", pages=node.pages)

    def _nodes(self) -> Iterator[Node]:
        stack = list(self._root.children.values())
        while stack:
            node = stack.pop()
            yield node
            stack.extend(node.children.values())

    def _first_page(self, key: np.ndarray) -> bytes:
        return key[: self._page_size].tobytes()

    def _common_pages(self, one: np.ndarray, other: np.ndarray) -> int:
        length = min(len(one), len(other))
        differ = one[:length] != other[:length]
        first = int(differ.argmax()) if differ.any() else length
        return first // self._page_size

    def _touch(self, node: Node) -> None:
        self._clock += 1
        for used in node.upwards():
            used.last_used = self._clock

    def _attach(self, key: np.ndarray, pages: list[int], parent: Node) -> Node:
        self._serial += 1
        node = Node(key, pages, parent, self._serial, self._clock)
        parent.children[self._first_page(key)] = node
        return node

    def _split(self, node: Node, count: int) -> Node:
        """Cuts ``node`` behind its first ``count`` pages; the new upper part is returned.

        ``node`` itself becomes the lower part, so that locks that end there go on ending there.
        """
        assert node.parent is not None
        cut = count * self._page_size
        upper = self._attach(node.key[:cut], node.pages[:count], node.parent)
        upper.locks, upper.last_used = node.locks, node.last_used
        node.key, node.pages, node.parent = node.key[cut:], node.pages[count:], upper
        upper.children[self._first_page(node.key)] = node
        return upper

    def _detach(self, node: Node) -> None:
        parent = node.parent
        assert parent is not None
        del parent.children[self._first_page(node.key)]
        self._queue(parent)

    def _queue(self, node: Node) -> None:
        """Makes ``node`` known to :meth:`evict` if it can go."""
        if node.parent is not None and not (node.locks or node.children or node.queued):
            node.queued = True
            heapq.heappush(self._leaves, (node.last_used, node.serial, node))
