"""A slot is given back while a step in flight still uses it (C5.149).

A slot that was freed last is used first, so the next prompt is written into that
row at once; then the step in flight writes its token there, into the new prompt.
"""

from __future__ import annotations

from typing import Any

from ..scheduler.req import Req
from ..scheduler.scheduler import Scheduler


class EarlySlot(Scheduler):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._given_back: set[Req] = set()

    def _end_req(self, req: Req) -> None:
        if req.slot is not None and req.in_flight:
            self.table_manager.free_slots.append(req.slot)
            self.table_manager.slots_with_wishes.discard(req.slot)
            self._given_back.add(req)
        super()._end_req(req)

    def _free_req_resources(self, req: Req) -> None:
        if req in self._given_back:
            self._given_back.remove(req)
            req.slot = None
        super()._free_req_resources(req)
