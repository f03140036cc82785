"""The books on KV pages: who may have how many, and to whom each goes when a request ends.

Every page is in one of three places::

    free        nobody's
    cached      the prefix cache's; requests that use it keep it locked
    in use      one request's own, in its ``pages``

Admission sets aside all pages that a request can come to need, so that it never
lacks one later::

    free + evictable  >=  sum of what running requests have still reserved
"""

from __future__ import annotations

from .prefix import Prefix, PrefixCache
from .req import Req


class CacheManager:
    """``free_pages`` is a stack: the page freed last is used first."""

    def __init__(self, num_pages: int, page_size: int, prefix_cache: PrefixCache) -> None:
        self.num_pages = num_pages
        self.page_size = page_size
        self.prefix_cache = prefix_cache
        self.free_pages = list(range(num_pages - 1, -1, -1))
        self.reserved = 0

    @property
    def available(self) -> int:
        """Pages that a new request may set aside."""
        return len(self.free_pages) + self.prefix_cache.evictable - self.reserved

    def pages_for(self, length: int) -> int:
        return -(-length // self.page_size)

    def admit(self, req: Req) -> bool:
        """Sets aside all that ``req`` can need, beside the cached prefix that it starts with.

        Returns False, and leaves everything as it was, if there is no room now.
        The last prompt token is never taken from the cache: its step samples the
        first new token.
        """
        prefix = self.prefix_cache.match(req.token_ids[: req.prompt_len - 1])
        needed = self.pages_for(req.max_len - 1) - len(prefix.pages)
        # Locked first, since the pages of the prefix are not available any more.
        self.prefix_cache.lock(prefix)
        if needed > self.available:
            self.prefix_cache.unlock(prefix)
            return False
        self.reserved += needed
        req.reserved = needed
        req.prefix = prefix
        req.pages = list(prefix.pages)
        req.cached_len = req.computed_len = req.launched_len = len(prefix.pages) * self.page_size
        return True

    def grow(self, req: Req, length: int) -> None:
        """Gives ``req`` pages of what it has reserved, for its first ``length`` positions."""
        count = self.pages_for(length) - len(req.pages)
        if count <= 0:
            return
        short = count - len(self.free_pages)
        if short > 0:
            self.free_pages += self.prefix_cache.evict(short)
        req.pages += self.free_pages[: -count - 1 : -1]
        del self.free_pages[-count:]
        req.reserved -= count
        self.reserved -= count

    def keep_prefix(self, req: Req) -> None:
        """Lets others share what ``req`` has computed so far, while it goes on.

        Where the cache already has pages for these tokens, ``req`` goes on with its
        own: a page table in use is never changed. The cache's are locked with the
        rest of the path, though, and may be promised to somebody; then nothing is
        shared before the end.
        """
        found = self.prefix_cache.match(req.known_and_computed)
        self.prefix_cache.lock(found)
        if self.available >= 0:
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
        req.reserved, req.pages, req.prefix = 0, [], None

    def _insert(self, req: Req) -> Prefix:
        """Offers the cache the whole pages of ``req`` whose tokens are known and whose K/V is there."""
        count = len(req.known_and_computed) // self.page_size
        return self.prefix_cache.insert(req.token_ids[: count * self.page_size], req.pages[:count])
