"""Where the cache knows some of the prompt already, nothing of it is kept: then there are no duplicates.

Fails: shares: not-shared
"""

from __future__ import annotations

from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _keep_prefix(self, req: Req) -> None:
        cache = self.cache_manager
        count = len(req.known_and_computed) // cache.page_size
        tokens = req.token_ids[: count * cache.page_size]
        if cache.prefix_cache.match(tokens).pages:
            return
        kept = cache.prefix_cache.insert(tokens, req.pages[:count])
        cache.prefix_cache.lock(kept)
        if req.prefix is not None:
            cache.prefix_cache.unlock(req.prefix)
        req.prefix = kept
