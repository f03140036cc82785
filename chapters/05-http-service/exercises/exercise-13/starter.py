"""Chapter 5, exercise 13: a page that a running request reads is not free.

The prompt of a request has been computed, and its whole pages go into the prefix cache. If
the cache has some of them already, of another request with the same beginning, this scheduler
frees the second ones. What to do is in exercise-13.md beside this file.
"""

from __future__ import annotations

from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _keep_prefix(self, req: Req) -> None:
        """The prompt of `req` is computed: others may read its pages while it goes on."""
        cache = self.cache_manager
        count = len(req.known_and_computed) // cache.page_size
        own = req.pages[:count]
        kept = cache.prefix_cache.insert(req.token_ids[: count * cache.page_size], own)
        cache.prefix_cache.lock(kept)
        if req.prefix is not None:
            cache.prefix_cache.unlock(req.prefix)
        req.prefix = kept
        # Where the cache had a page already, that of the request is a duplicate.
        cache.free_pages += [mine for mine, theirs in zip(own, kept.pages, strict=True) if mine != theirs]
