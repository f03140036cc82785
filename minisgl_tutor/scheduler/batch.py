"""One step: who is in it and how far each goes, and the same as the engine gets it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..engine.base import ForwardBatch, Phase, TableUpdate
from .req import Req
from .table import TableManager
from .wishes import with_wishes


@dataclass(slots=True)
class Batch:
    """What a manager chose: row ``r`` computes ``reqs[r]`` up to position ``ends[r]``.

    New pages of its requests are collected as writes to the engine's page table.
    """

    phase: Phase
    reqs: list[Req] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    _slots: list[int] = field(default_factory=list)
    _columns: list[int] = field(default_factory=list)
    _pages: list[int] = field(default_factory=list)

    def add(self, req: Req, end: int) -> None:
        """A further row. ``req`` must have a slot, and pages up to ``end``."""
        self.reqs.append(req)
        self.ends.append(end)
        new = len(req.pages) - req.mapped
        if new:
            assert req.slot is not None
            self._slots += [req.slot] * new
            self._columns += range(req.mapped, req.mapped + new)
            self._pages += req.pages[req.mapped :]
            req.mapped += new

    def table_update(self) -> TableUpdate:
        return TableUpdate(
            slots=np.array(self._slots, np.int32),
            columns=np.array(self._columns, np.int32),
            pages=np.array(self._pages, np.int32),
        )


@dataclass(frozen=True, slots=True)
class ForwardInput:
    """A step ready for the engine, and the requests in its rows."""

    reqs: list[Req]
    batch: ForwardBatch


def prepare_batch(batch: Batch, table: TableManager) -> ForwardInput:
    """``batch`` as arrays. Needs the state from before the launch: a row starts at ``launched_len``."""
    reqs = batch.reqs
    slots = np.array([req.slot for req in reqs], np.int32)
    seq_lens = np.array(batch.ends, np.int32)
    if batch.phase == "decode":
        cached_lens = seq_lens - 1
        emits = np.ones(len(reqs), np.bool_)
        input_ids = np.empty(0, np.int32)
    else:
        cached_lens = np.array([req.launched_len for req in reqs], np.int32)
        emits = seq_lens == np.array([req.prefill_len for req in reqs], np.int32)
        chunks = zip(reqs, batch.ends, strict=True)
        input_ids = np.concatenate([req.token_ids[req.launched_len : end] for req, end in chunks])
    sampling = table.sampling(slots, seq_lens)
    if table.slots_with_wishes:
        emitting = zip(np.flatnonzero(emits).tolist(), slots[emits].tolist(), strict=True)
        rows = [(row, reqs[row]) for row, slot in emitting if slot in table.slots_with_wishes]
        sampling = with_wishes(sampling, rows, batch.phase == "prefill")
    forward_batch = ForwardBatch(
        phase=batch.phase,
        uids=[req.uid for req in reqs],
        slots=slots,
        cached_lens=cached_lens,
        seq_lens=seq_lens,
        input_ids=input_ids,
        table_update=batch.table_update(),
        emits=emits,
        sampling=sampling,
    )
    return ForwardInput(reqs, forward_batch)
