"""A prompt whose abort came while it was computed is freed, and filed in the prefix cache all the same.

The abort gives the pages back at once, as nothing is computed on them yet; the step
in flight then keeps the prompt for others, as any last step of a prompt does. The
next request may get the pages to write on while another one reads the prefix there.
"""

from __future__ import annotations

from ..scheduler.req import Req
from ..scheduler.scheduler import Scheduler


class FreedAndCached(Scheduler):
    def _release_if_drained(self, req: Req) -> None:
        own = [] if req.prefix is None else req.pages[len(req.prefix.pages) :]
        in_flight_at_abort = req.aborted and not req.in_flight and req.computed_len == req.prefill_len
        super()._release_if_drained(req)
        if in_flight_at_abort and req.length == req.prompt_len:
            free = self.cache_manager.free_pages
            free += [page for page in own if page not in free]
