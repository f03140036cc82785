"""Its pages are locked, and nobody notes what is to be unlocked at the end.

Fails: alone: pages-left
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
