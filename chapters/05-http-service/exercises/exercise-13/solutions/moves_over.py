"""It goes on with the cache's pages: its row of the page table is written anew, then its own are free."""

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
        for place, (mine, theirs) in enumerate(zip(own, kept.pages, strict=True)):
            if mine != theirs:
                req.pages[place] = theirs
                req.mapped = min(req.mapped, place)  # the next step writes the table from here on
                cache.free_pages.append(mine)
