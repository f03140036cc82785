"""What the scheduler knows of an engine: plain numpy in, a handle on the new tokens out.

The engine owns what lives on the device: K/V pool, page table, token pool and
sampling. The scheduler decides which pages and slots are used, and describes
one step as a ``ForwardBatch``. Steps run in the order in which they were
handed over. Nothing here imports torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

Phase = Literal["prefill", "decode"]


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """Sizes that the scheduler plans with.

    ``num_pages`` pages of ``page_size`` tokens each; ``num_slots`` rows in page
    table and token pool, so the number of requests that can run at once;
    ``max_seq_len`` tokens (prompt and output) that one row can hold.
    """

    page_size: int
    num_pages: int
    num_slots: int
    max_seq_len: int
    vocab_size: int


@dataclass(frozen=True, slots=True)
class TableUpdate:
    """Writes to the page table before the step: ``page_table[slots[i], columns[i]] = pages[i]``.

    Column ``c`` of a row names the page that holds positions
    ``c * page_size`` to ``(c + 1) * page_size - 1``. int32, shape [writes].
    """

    slots: np.ndarray
    columns: np.ndarray
    pages: np.ndarray


@dataclass(frozen=True, slots=True)
class SamplingBatch:
    """Sampling values by row, shape [rows].

    ``temperatures`` float32, 0 for a greedy row; ``top_ks`` int32, -1 for off;
    ``top_ps`` float32; ``seeds`` uint64; ``positions`` int64, the index of the
    token to be drawn in its sequence, which with the seed fixes the draw.
    """

    temperatures: np.ndarray
    top_ks: np.ndarray
    top_ps: np.ndarray
    seeds: np.ndarray
    positions: np.ndarray


@dataclass(frozen=True, slots=True)
class ForwardBatch:
    """One step of the model, for the requests in its rows.

    Row ``r`` has K/V for positions below ``cached_lens[r]`` and computes those
    from there up to ``seq_lens[r]``; if ``emits[r]`` is set it then samples the
    token at position ``seq_lens[r]``, which the engine also writes to
    ``token_pool[slots[r], seq_lens[r]]``. (A chunk in the middle of a prompt
    emits nothing.)

    In prefill ``input_ids`` holds the rows' new tokens one row after the other,
    int32, shape [sum(seq_lens - cached_lens)]. In decode it is empty: each row
    has one input token, ``token_pool[slots[r], cached_lens[r]]``, which the
    step before may still be computing.
    """

    phase: Phase
    uids: list[int]
    slots: np.ndarray
    cached_lens: np.ndarray
    seq_lens: np.ndarray
    input_ids: np.ndarray
    table_update: TableUpdate
    emits: np.ndarray
    sampling: SamplingBatch


class ForwardOutput(Protocol):
    """A step that may still be running."""

    def next_tokens(self) -> list[int]:
        """One token a row, -1 for a row that emits none. Waits until the step has run.

        Raises:
            EngineError: the step failed.
        """
        ...


class EngineError(RuntimeError):
    """The engine cannot go on."""


class Engine(Protocol):
    """Runs steps. ``forward_batch`` may return before the step has run."""

    @property
    def info(self) -> EngineInfo: ...

    def forward_batch(self, batch: ForwardBatch) -> ForwardOutput: ...

    def close(self) -> None: ...
