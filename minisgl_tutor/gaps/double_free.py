"""An abort and the last token in flight each end the request, and both give its slot back (C5.145).

The step in flight brings an end-of-sequence token, which ends the request like any
other; nobody asks whether the abort has ended it already. Two requests that come
later share the slot.
"""

from __future__ import annotations

from ..scheduler.req import Req
from ..scheduler.scheduler import Scheduler


class DoubleFree(Scheduler):
    def _drop_late(self, req: Req, token: int) -> None:
        slot = req.slot
        super()._drop_late(req, token)
        is_eos = token in self.eos_token_ids and not req.sampling_params.ignore_eos
        if req.aborted and is_eos and slot is not None:
            self.table_manager.free_slots.append(slot)
