"""The cache may evict the pages while the request still reads them.

Fails: pressure: freed-live
"""

from __future__ import annotations

from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _keep_prefix(self, req: Req) -> None:
        cache = self.cache_manager
        count = len(req.known_and_computed) // cache.page_size
        own = req.pages[:count]
        cache.prefix_cache.insert(req.token_ids[: count * cache.page_size], own)
