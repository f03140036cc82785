"""Table slots: one row in the engine's page table and token pool for each admitted request."""

from __future__ import annotations

import numpy as np

from ..engine.base import SamplingBatch
from .req import Req
from .wishes import has_wishes

_INT32_MAX = 2**31 - 1


class TableManager:
    """Hands out slots, and keeps each row's sampling values, so that a batch of them is one look-up."""

    def __init__(self, num_slots: int) -> None:
        self.num_slots = num_slots
        self.free_slots = list(range(num_slots - 1, -1, -1))
        self._temperatures = np.zeros(num_slots, np.float32)
        self._top_ks = np.full(num_slots, -1, np.int32)
        self._top_ps = np.ones(num_slots, np.float32)
        self._seeds = np.zeros(num_slots, np.uint64)
        self.slots_with_wishes: set[int] = set()

    def allocate(self, req: Req) -> None:
        """Gives ``req`` a slot; there must be a free one."""
        slot = self.free_slots.pop()
        params = req.sampling_params
        self._temperatures[slot] = params.temperature
        self._top_ks[slot] = min(params.top_k, _INT32_MAX) if params.top_k > 0 else -1
        self._top_ps[slot] = params.top_p
        self._seeds[slot] = req.seed % 2**64
        if has_wishes(params):
            self.slots_with_wishes.add(slot)
        req.slot = slot

    def free(self, req: Req) -> None:
        """Takes the slot back; nothing that uses it may be in flight."""
        if req.slot is not None:
            self.free_slots.append(req.slot)
            self.slots_with_wishes.discard(req.slot)
            req.slot = None

    def sampling(self, slots: np.ndarray, positions: np.ndarray) -> SamplingBatch:
        """The sampling values of these rows, for the tokens at ``positions``."""
        return SamplingBatch(
            temperatures=self._temperatures[slots],
            top_ks=self._top_ks[slots],
            top_ps=self._top_ps[slots],
            seeds=self._seeds[slots],
            positions=positions.astype(np.int64),
        )
