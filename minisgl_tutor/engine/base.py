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
class Penalties:
    """Rows whose scores depend on what they generated so far, shape [penalized].

    A token that row ``rows[i]`` has ``c > 0`` times, from position ``begins[i]`` of
    its sequence on, loses ``presences[i] + c * frequencies[i]`` of its score. The
    engine counts in the token pool, where the token of a step in flight is as well.
    What the pool cannot have, as a retraction gave the row's slot away, is written
    there before: ``token_pool[known_slots[j], known_columns[j]] = known_tokens[j]``.
    ``rows`` int64, ascending, each one emits; the factors float32; all else int32.
    """

    rows: np.ndarray
    begins: np.ndarray
    presences: np.ndarray
    frequencies: np.ndarray
    known_slots: np.ndarray
    known_columns: np.ndarray
    known_tokens: np.ndarray


@dataclass(frozen=True, slots=True)
class Biases:
    """``values[i]`` is added to the score of token ``tokens[i]`` in row ``rows[i]``, shape [biases].

    No pair of row and token comes twice. int64, int64, float32; ``rows`` ascending, each one emits.
    """

    rows: np.ndarray
    tokens: np.ndarray
    values: np.ndarray


@dataclass(frozen=True, slots=True)
class LogprobRows:
    """The rows whose logprobs are wanted, int64, ascending, each one emits; of how many likeliest as well."""

    rows: np.ndarray
    top: int


@dataclass(frozen=True, slots=True)
class SamplingBatch:
    """Sampling values by row, shape [rows].

    ``temperatures`` float32, 0 for a greedy row; ``top_ks`` int32, -1 for off;
    ``top_ps`` float32; ``seeds`` uint64; ``positions`` int64, the index of the
    token to be drawn in its sequence, which with the seed fixes the draw.

    The rest is what few ask for, ``None`` where no row does: ``min_ps`` float32,
    shape [rows], 0 for off; penalties and biases, which change the scores before
    anything else does; logprobs, which say nothing of any of these values.
    """

    temperatures: np.ndarray
    top_ks: np.ndarray
    top_ps: np.ndarray
    seeds: np.ndarray
    positions: np.ndarray
    min_ps: np.ndarray | None = None
    penalties: Penalties | None = None
    biases: Biases | None = None
    logprobs: LogprobRows | None = None


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


@dataclass(frozen=True, slots=True)
class Logprobs:
    """How likely tokens were, by the model's scores as they are: natural logarithms, no less than -9999.

    ``chosen`` float32 has one for the token of each row in the step's ``LogprobRows``,
    shape [wanted]; ``top_tokens`` int64 and ``top_logprobs`` float32 the likeliest ones,
    in falling order, shape [wanted, top] (fewer where the vocabulary ends).
    """

    chosen: np.ndarray
    top_tokens: np.ndarray
    top_logprobs: np.ndarray


class ForwardOutput(Protocol):
    """A step that may still be running."""

    def next_tokens(self) -> list[int]:
        """One token a row, -1 for a row that emits none. Waits until the step has run.

        Raises:
            EngineError: the step failed.
        """
        ...

    def logprobs(self) -> Logprobs:
        """Those that the step's sampling values ask for; there must be some. Waits as ``next_tokens`` does.

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
