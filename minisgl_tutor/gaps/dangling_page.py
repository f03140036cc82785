"""Pages that the prefix cache has in duplicate are freed while a running request still uses them.

Two requests with the same prompt are computed side by side. The first one's pages
go into the prefix cache; the second one's are not needed there and are given back,
but its row of the page table goes on pointing to them (C2.83).
"""

from __future__ import annotations

from ..scheduler.req import Req
from ..scheduler.scheduler import Scheduler


class DanglingPage(Scheduler):
    def _keep_prefix(self, req: Req) -> None:
        super()._keep_prefix(req)
        if req.prefix is not None:
            cached = self.cache_manager.prefix_cache.path(req.prefix)
            duplicates = [own for own, kept in zip(req.pages, cached, strict=False) if own != kept]
            self.cache_manager.free_pages += duplicates
