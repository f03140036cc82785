"""What is in the cache is taken for no longer the request's, and all of it is freed.

Fails: alone: freed-live
"""

from __future__ import annotations

from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _keep_prefix(self, req: Req) -> None:
        cache = self.cache_manager
        count = len(req.known_and_computed) // cache.page_size
        own = req.pages[:count]
        kept = cache.prefix_cache.insert(req.token_ids[: count * cache.page_size], own)
        cache.prefix_cache.lock(kept)
        if req.prefix is not None:
            cache.prefix_cache.unlock(req.prefix)
        req.prefix = kept
        cache.free_pages += own
