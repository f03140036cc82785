"""The books on KV pages: who may have how many, and to whom each goes when a request ends.

Every page is in one of three places::

    free        nobody's
    cached      the prefix cache's; requests that use it keep it locked
    in use      one request's own, in its ``pages``

An admitted request has the pages of its prompt. Of those that its output can
come to need, a part is set aside with the admission of others, which needs::

    free + evictable  >=  pages of the prompt + what it and all others have reserved

With the policy ``reserve`` that part is the whole, so the right side never
exceeds the left one, and no request ever lacks a page. ``optimistic`` sets aside
no more than ``head_room`` pages a request, since few outputs are as long as they
may be. A step can then find too few pages; the scheduler retracts somebody.

That ends well. As one page at least is set aside for whoever can need one, right
after an admission the next decode step has its pages: nobody is retracted for
the sake of an admission before all who run have gone on by a token. And who is
alone is admitted under either policy, since a request that does not fit into the
whole pool was refused.
"""

from __future__ import annotations

from .prefix import Prefix, PrefixCache
from .req import Req


class CacheManager:
    """``free_pages`` is a stack: the page freed last is used first.

    ``head_room`` is the number of pages that a request sets aside for its output,
    at least 1; None stands for all that it can need.
    """

    def __init__(
        self, num_pages: int, page_size: int, prefix_cache: PrefixCache, head_room: int | None = None
    ) -> None:
        self.num_pages = num_pages
        self.page_size = page_size
        self.prefix_cache = prefix_cache
        self.head_room = head_room
        self.free_pages = list(range(num_pages - 1, -1, -1))
        self.reserved = 0

    @property
    def room(self) -> int:
        """Pages that can be taken now."""
        return len(self.free_pages) + self.prefix_cache.evictable

    @property
    def available(self) -> int:
        """Pages that a new request may have or set aside; below 0 if others lack some of theirs already."""
        return self.room - self.reserved

    def pages_for(self, length: int) -> int:
        return -(-length // self.page_size)

    def admit(self, req: Req) -> bool:
        """Gives ``req`` the pages of its prompt, beginning with its cached prefix, and sets more aside.

        Returns False, and leaves everything as it was, if there is no room now.
        The last prompt token is never taken from the cache: its step samples the
        next token.
        """
        prefix = self.prefix_cache.match(req.token_ids[: req.prefill_len - 1])
        new = self.pages_for(req.prefill_len) - len(prefix.pages)
        rest = self.pages_for(req.max_len - 1) - len(prefix.pages)
        reserved = rest - new if self.head_room is None else min(rest - new, self.head_room)
        # Locked first, since the pages of the prefix are not available any more.
        self.prefix_cache.lock(prefix)
        if new + reserved > self.available:
            self.prefix_cache.unlock(prefix)
            return False
        self.reserved += reserved
        req.rest, req.reserved = rest, reserved
        req.prefix = prefix
        req.pages = list(prefix.pages)
        req.begin(len(prefix.pages) * self.page_size)
        return self.grow(req, req.prefill_len)

    def grow(self, req: Req, length: int) -> bool:
        """Gives ``req`` pages for its first ``length`` positions; False, and none, if there are too few."""
        count = self.pages_for(length) - len(req.pages)
        if count <= 0:
            return True
        short = count - len(self.free_pages)
        if short > 0:
            if short > self.prefix_cache.evictable:
                return False
            self.free_pages += self.prefix_cache.evict(short)
        req.pages += self.free_pages[: -count - 1 : -1]
        del self.free_pages[-count:]
        req.rest -= count
        if req.rest < req.reserved:
            self.reserved += req.rest - req.reserved
            req.reserved = req.rest
        return True

    def keep_prefix(self, req: Req) -> None:
        """Lets others share what ``req`` has computed so far, while it goes on.

        Where the cache already has pages for these tokens, ``req`` goes on with its
        own: a page table in use is never changed. The cache's are locked with the
        rest of the path, though, and may be promised to somebody; then nothing is
        shared before the end.
        """
        found = self.prefix_cache.match(req.known_and_computed)
        available = self.available
        self.prefix_cache.lock(found)
        if self.available >= min(available, 0):
            prefix = self._insert(req)
            self.prefix_cache.lock(prefix)
            if req.prefix is not None:
                self.prefix_cache.unlock(req.prefix)
            req.prefix = prefix
        self.prefix_cache.unlock(found)

    def release(self, req: Req) -> None:
        """Takes all pages of ``req`` back: into the prefix cache where they are new to it, else free.

        Nothing that uses them may be in flight.
        """
        cached = self._insert(req).pages
        # Where the cache had a page of its own already, the request's is a duplicate.
        self.free_pages += [own for own, kept in zip(req.pages, cached, strict=False) if own != kept]
        self.free_pages += req.pages[len(cached) :]
        if req.prefix is not None:
            self.prefix_cache.unlock(req.prefix)
        self.reserved -= req.reserved
        req.rest, req.reserved, req.pages, req.prefix = 0, 0, [], None

    def _insert(self, req: Req) -> Prefix:
        """Offers the cache the whole pages of ``req`` whose tokens are known and whose K/V is there."""
        count = len(req.known_and_computed) // self.page_size
        return self.prefix_cache.insert(req.token_ids[: count * self.page_size], req.pages[:count])
