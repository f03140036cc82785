"""Decode steps as CUDA graphs: captured once for some numbers of rows, replayed for every step.

A replay reads its rows from one small buffer, which the host fills with one copy.
All else stays on the device: input tokens come from the token pool, pages from the
page table, and the tokens drawn go back to the pool, before the host knows them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
import triton
import triton.language as tl
from torch import Tensor

from ..attention.base import AttentionPlan, DecodeBackend, DecodeStep
from ..language import Sentence
from ..models.decoder import Decoder
from ..progress import Advance, progress
from .base import ForwardBatch
from .gumbel import draw
from .packed_rows import FIELDS, NEW_PAGE, NO_PAGE, SLOT, TEMPERATURE, RowPacker, capture_sizes, packed_length


@dataclass(frozen=True)
class Tables:
    """The engine's tables, each with one row more than there are slots.

    That row, ``spare_slot``, is what rows that fill a graph up use: it maps to a page
    that no request can get.
    """

    page_table: Tensor
    token_pool: Tensor
    spare_slot: int
    page_size: int


@dataclass(frozen=True)
class OpenRows:
    """What ``open_rows`` looks up, one value a row. It holds valid indices from the beginning."""

    seq_lens: Tensor
    input_ids: Tensor
    positions: Tensor
    locations: Tensor
    seeds: Tensor


@dataclass(frozen=True)
class Captured:
    """One graph, and all tensors from outside of it that its replays read and write: they must live on."""

    graph: torch.cuda.CUDAGraph
    inputs: Tensor
    opened: OpenRows
    plan: AttentionPlan
    logits: Tensor
    tokens: Tensor


class DecodeGraphs:
    """All captured sizes."""

    def __init__(
        self,
        model: Decoder,
        backend: DecodeBackend,
        tables: Tables,
        max_rows: int,
    ) -> None:
        self.model = model
        self.backend = backend
        self.tables = tables
        self.sizes = capture_sizes(max_rows)
        self._packer = RowPacker(tables.spare_slot, tables.page_size)
        self._graphs: dict[int, Captured] = {}

    def rehearse(self) -> None:
        """Steps without rows, of all sizes that have kernels of their own, for ``compile_ahead``."""
        for size in {*self.sizes[:4], self.sizes[-1]}:
            self._step(*self._new_inputs(size))
        self.tables.token_pool[self.tables.spare_slot] = 0

    def capture(self) -> None:
        """All sizes; before that, no step is covered."""
        with progress(Sentence("capturing decode steps"), len(self.sizes), self.model.group.rank) as advance:
            self._graphs = dict(self._capture_all(advance))

    def covers(self, batch: ForwardBatch) -> bool:
        """Whether ``batch`` is a decode step that fits one of the sizes."""
        return batch.phase == "decode" and bool(self._graphs) and len(batch.slots) <= self.sizes[-1]

    def replay(self, batch: ForwardBatch) -> tuple[Tensor, Tensor] | None:
        """Launches the step. Scores and drawn tokens, one a row, until the next replay.

        ``None``, with nothing done, if the page table gets other pages than the one
        that a row's new token may open.
        """
        rows = len(batch.slots)
        size = next(size for size in self.sizes if size >= rows)
        new_pages = self._packer.new_pages(batch)
        if new_pages is None:
            return None
        captured = self._graphs[size]
        # Pinned memory comes from an allocator that keeps it until the copy is done.
        buffer = torch.empty(packed_length(size), dtype=torch.int32, pin_memory=True)
        self._packer.pack(buffer.numpy(), size, batch, new_pages)
        captured.inputs.copy_(buffer, non_blocking=True)
        seq_lens = np.ones(size, np.int32)
        seq_lens[:rows] = batch.seq_lens
        self.backend.prepare(captured.plan, seq_lens)
        captured.graph.replay()
        return captured.logits[:rows], captured.tokens[:rows]

    def _capture_all(self, advance: Advance) -> Iterable[tuple[int, Captured]]:
        pool = None
        # The largest first: the others then live in its memory.
        for size in reversed(self.sizes):
            inputs, opened = self._new_inputs(size)
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                self._step(inputs, opened)  # libraries are set up outside of the capture
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            # Only this thread is held to what can be captured: NCCL has one that looks after it.
            with torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
                plan, logits, tokens = self._step(inputs, opened)
            pool = pool or graph.pool()
            advance(1)
            yield size, Captured(graph, inputs, opened, plan, logits, tokens)

    def _new_inputs(self, size: int) -> tuple[Tensor, OpenRows]:
        device = self.tables.page_table.device
        inputs = torch.zeros(packed_length(size), dtype=torch.int32, device=device)
        fields = inputs[:-1].view(FIELDS, size)
        fields[SLOT] = self.tables.spare_slot
        fields[NEW_PAGE] = NO_PAGE
        seq_lens = torch.zeros(size, dtype=torch.int32, device=device)
        return inputs, OpenRows(seq_lens, *torch.zeros(4, size, dtype=torch.int64, device=device))

    def _step(self, inputs: Tensor, opened: OpenRows) -> tuple[AttentionPlan, Tensor, Tensor]:
        """One decode step from inputs to tokens, as device work alone."""
        tables, seq_lens, size = self.tables, opened.seq_lens, len(opened.seq_lens)
        fields = inputs[:-1].view(FIELDS, size)
        open_rows[(size,)](
            inputs,
            size,
            tables.page_table,
            tables.page_table.shape[1],
            tables.token_pool,
            tables.token_pool.shape[1],
            tables.page_size,
            opened.input_ids,
            opened.positions,
            opened.locations,
            seq_lens,
            opened.seeds,
            num_warps=1,
        )
        step = DecodeStep(tables.page_table, fields[SLOT], seq_lens, opened.locations, live=inputs[-1:])
        plan = self.backend.capture(step)
        logits = self.model.forward(opened.input_ids, opened.positions, self.backend, plan, emitting=None)
        tokens = torch.empty(size, dtype=torch.int32, device=inputs.device)
        draw(logits, fields[TEMPERATURE].view(torch.float32), opened.seeds, seq_lens, tokens)
        pool = tables.token_pool
        keep_tokens[(size,)](tokens, fields[SLOT], seq_lens, pool, pool.shape[1], num_warps=1)
        return plan, logits, tokens


@triton.jit(do_not_specialize=["size", "pages_per_row", "tokens_per_row", "page_size"])
def open_rows(
    inputs: tl.tensor,
    size: tl.tensor,
    page_table: tl.tensor,
    pages_per_row: tl.tensor,
    token_pool: tl.tensor,
    tokens_per_row: tl.tensor,
    page_size: tl.tensor,
    input_ids: tl.tensor,
    positions: tl.tensor,
    locations: tl.tensor,
    seq_lens: tl.tensor,
    seeds: tl.tensor,
) -> None:
    """Enters a row's new page in the page table, and looks up what the step needs of the row."""
    row = tl.program_id(0)
    slot = tl.load(inputs + row).to(tl.int64)
    cached = tl.load(inputs + size + row)
    new_page = tl.load(inputs + 2 * size + row)
    entry = page_table + slot * pages_per_row + cached // page_size
    page = tl.where(new_page >= 0, new_page, tl.load(entry))
    tl.store(entry, page)
    tl.store(input_ids + row, tl.load(token_pool + slot * tokens_per_row + cached).to(tl.int64))
    tl.store(positions + row, cached.to(tl.int64))
    tl.store(locations + row, page.to(tl.int64) * page_size + cached % page_size)
    tl.store(seq_lens + row, cached + 1)
    low = tl.load(inputs + 4 * size + row).to(tl.uint32, bitcast=True).to(tl.int64)
    high = tl.load(inputs + 5 * size + row).to(tl.int64)
    tl.store(seeds + row, (high << 32) | low)


@triton.jit(do_not_specialize=["tokens_per_row"])
def keep_tokens(
    tokens: tl.tensor, slots: tl.tensor, seq_lens: tl.tensor, token_pool: tl.tensor, tokens_per_row: tl.tensor
) -> None:
    row = tl.program_id(0)
    place = tl.load(slots + row).to(tl.int64) * tokens_per_row + tl.load(seq_lens + row)
    tl.store(token_pool + place, tl.load(tokens + row))
