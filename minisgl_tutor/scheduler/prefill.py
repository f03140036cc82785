"""The waiting queue, and which of its prompts are computed next."""

from __future__ import annotations

from .batch import Batch
from .cache import CacheManager
from .req import Req
from .table import TableManager


class PrefillManager:
    """First come, first served: a request that does not fit holds back those behind it.

    ``waiting`` keeps the order of arrival. A prompt longer than the budget is
    computed in chunks; until its last one it stays at the head of the queue. A
    retracted request comes back to the head, with what it has generated as part
    of its prompt.
    """

    def __init__(self, cache_manager: CacheManager, table_manager: TableManager) -> None:
        self.waiting: dict[int, Req] = {}
        self.retractions = 0
        self._cache_manager = cache_manager
        self._table_manager = table_manager

    @property
    def runnable(self) -> bool:
        return bool(self.waiting)

    def add_one_req(self, req: Req) -> None:
        self.waiting[req.uid] = req

    def add_retracted_req(self, req: Req) -> None:
        """``req`` arrived before all that wait, since it was admitted before them."""
        self.waiting = {req.uid: req, **self.waiting}
        self.retractions += 1

    def abort_req(self, uid: int) -> Req | None:
        """Takes ``uid`` out of the queue, half computed or not; None if it is not there (C5.147)."""
        return self.waiting.pop(uid, None)

    def schedule_next_batch(self, prefill_budget: int) -> Batch | None:
        """Prompts from the head of the queue, with together at most ``prefill_budget`` tokens to compute.

        Those whose last chunk this is leave the queue. None if there is nothing
        to compute, or no room for the first in the queue.
        """
        batch = Batch("prefill")
        for req in self.waiting.values():
            if prefill_budget <= 0 or not self._admit(req):
                break
            end = min(req.launched_len + prefill_budget, req.prefill_len)
            prefill_budget -= end - req.launched_len
            batch.add(req, end)
        for req, end in zip(batch.reqs, batch.ends, strict=True):
            if end == req.prefill_len:
                del self.waiting[req.uid]
        return batch if batch.reqs else None

    def _admit(self, req: Req) -> bool:
        """Whether ``req`` has, or now got, a slot and its pages (C2.82, C2.83)."""
        if req.slot is not None:
            return True
        if not self._table_manager.free_slots or not self._cache_manager.admit(req):
            return False
        self._table_manager.allocate(req)
        return True
