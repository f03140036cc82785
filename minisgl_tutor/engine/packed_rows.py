"""What a captured decode step needs of its rows, packed into one array of int32: one copy to the device."""

from __future__ import annotations

import numpy as np

from .base import ForwardBatch, SamplingBatch

# The fields, each with one value a row; behind them the number of real rows.
SLOT, CACHED, NEW_PAGE, TEMPERATURE, SEED_LOW, SEED_HIGH, FIELDS = range(7)

NO_PAGE = -1


def effective_temperatures(batch: SamplingBatch) -> np.ndarray:
    """Temperatures, with 0 also for rows whose top-k leaves one token."""
    return np.where(batch.top_ks == 1, 0, batch.temperatures).astype(np.float32)


def capture_sizes(max_rows: int) -> list[int]:
    """The numbers of rows that graphs are captured for: dense where a step is short, then every eighth."""
    sizes = {1, 2, 4, *range(8, max_rows + 1, 8), max_rows}
    return sorted(size for size in sizes if 0 < size <= max_rows)


def packed_length(size: int) -> int:
    return FIELDS * size + 1


class RowPacker:
    """Packs decode steps. Rows that fill a graph up use ``spare_slot``, which no request has."""

    def __init__(self, spare_slot: int, page_size: int) -> None:
        self.spare_slot = spare_slot
        self.page_size = page_size
        self._row_of_slot = np.full(spare_slot, -1, np.int64)

    def new_pages(self, batch: ForwardBatch) -> np.ndarray | None:
        """The page that each row's new token opens, or ``NO_PAGE``.

        ``None`` if the batch updates the page table in any other place: that does not go
        into the fields.
        """
        pages = np.full(len(batch.slots), NO_PAGE, np.int32)
        update = batch.table_update
        if len(update.slots):
            self._row_of_slot[batch.slots] = np.arange(len(batch.slots))
            rows = self._row_of_slot[update.slots]
            self._row_of_slot[batch.slots] = -1
            opened = batch.cached_lens[rows] // self.page_size
            if (rows < 0).any() or (update.columns != opened).any():
                return None
            pages[rows] = update.pages
        return pages

    def pack(self, buffer: np.ndarray, size: int, batch: ForwardBatch, new_pages: np.ndarray) -> None:
        """Fills ``buffer``, int32 of ``packed_length(size)``, for a graph of ``size`` rows."""
        rows = len(batch.slots)
        fields = buffer[:-1].reshape(FIELDS, size)
        fields[:, rows:] = 0
        fields[SLOT, rows:] = self.spare_slot
        fields[NEW_PAGE, rows:] = NO_PAGE
        fields[SLOT, :rows] = batch.slots
        fields[CACHED, :rows] = batch.cached_lens
        fields[NEW_PAGE, :rows] = new_pages
        fields[TEMPERATURE, :rows] = effective_temperatures(batch.sampling).view(np.int32)
        seeds = np.ascontiguousarray(batch.sampling.seeds).view(np.int32).reshape(-1, 2)
        fields[SEED_LOW : SEED_HIGH + 1, :rows] = seeds.T
        buffer[-1] = rows
