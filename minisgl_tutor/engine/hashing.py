"""An engine for tests: the next token is a hash of exactly what its row makes it read.

K/V of a position is a hash of the token there and of the K/V before it, as a
model's is a function of the whole prefix; the next token is a hash of all K/V
of the row. So a wrong page, slot, position or token anywhere changes the
output, and the right output can be computed without any batching
(``expected_tokens``). Sampling values play no part.

With ``lag`` a step runs only when the next one is launched or its tokens are
asked for, yet what the host writes for a launch (page table, prompt tokens)
lands at once: the order that careless CUDA streams may produce. A slot that is
given away while a step in flight still uses it then corrupts the output.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Sequence
from hashlib import blake2b

import numpy as np

from .base import EngineError, EngineInfo, ForwardBatch

_UNMAPPED = -1


class HashingStep:
    """A launched step (``ForwardOutput``)."""

    def __init__(self, engine: HashingEngine, batch: ForwardBatch) -> None:
        self._engine = engine
        self.batch = batch
        self.tokens: list[int] | None = None

    def next_tokens(self) -> list[int]:
        if self.tokens is None:
            self._engine.run_pending()
        assert self.tokens is not None
        return self.tokens


class HashingEngine:
    """See the module. ``info.vocab_size`` decides how often an EOS id comes up by chance."""

    def __init__(self, info: EngineInfo, lag: bool = False) -> None:
        self._info = info
        self._lag = lag
        columns = -(-info.max_seq_len // info.page_size)
        self._page_table = np.full((info.num_slots, columns), _UNMAPPED, np.int64)
        self._token_pool = np.zeros((info.num_slots, info.max_seq_len), np.int64)
        self._kv = np.zeros(info.num_pages * info.page_size, "<u8")
        self._pending: HashingStep | None = None

    @property
    def info(self) -> EngineInfo:
        return self._info

    def forward_batch(self, batch: ForwardBatch) -> HashingStep:
        self._write_from_host(batch)
        self.run_pending()
        step = HashingStep(self, batch)
        self._pending = step
        if not self._lag:
            self.run_pending()
        return step

    def run_pending(self) -> None:
        """Runs the step that was launched and has not run, if there is one."""
        step, self._pending = self._pending, None
        if step is not None:
            step.tokens = self._run(step.batch)

    def close(self) -> None:
        self._pending = None

    def expected_tokens(
        self, prompt: Sequence[int], max_tokens: int, eos: Collection[int] = (), ignore_eos: bool = False
    ) -> list[int]:
        """The right output for ``prompt``, computed alone: up to ``max_tokens``, or up to and with an EOS."""
        kv: list[int] = []
        for token in prompt:
            kv.append(_kv_value(kv[-1] if kv else 0, token, len(kv)))
        output: list[int] = []
        while len(output) < max_tokens:
            token = self._next_token(np.array(kv, "<u8"))
            output.append(token)
            if token in eos and not ignore_eos:
                break
            kv.append(_kv_value(kv[-1], token, len(kv)))
        return output

    def _write_from_host(self, batch: ForwardBatch) -> None:
        update = batch.table_update
        self._page_table[update.slots, update.columns] = update.pages
        if batch.phase == "prefill":
            begin = 0
            for slot, start, end in _rows(batch):
                self._token_pool[slot, start:end] = batch.input_ids[begin : begin + end - start]
                begin += end - start

    def _run(self, batch: ForwardBatch) -> list[int]:
        for slot, start, end in _rows(batch):
            where = self._locations(slot, end)
            value = int(self._kv[where[start - 1]]) if start else 0
            for position in range(start, end):
                value = _kv_value(value, int(self._token_pool[slot, position]), position)
                self._kv[where[position]] = value
        tokens: list[int] = []
        for (slot, _, end), emits in zip(_rows(batch), batch.emits.tolist(), strict=True):
            token = -1
            if emits:
                token = self._next_token(self._kv[self._locations(slot, end)])
                self._token_pool[slot, end] = token
            tokens.append(token)
        return tokens

    def _locations(self, slot: int, length: int) -> np.ndarray:
        """Where the K/V of the first ``length`` positions of a row lie."""
        positions = np.arange(length)
        pages = self._page_table[slot, positions // self._info.page_size]
        if (pages == _UNMAPPED).any():
            raise EngineError(f"slot {slot} has {length} positions, but not a page for each of them")
        return np.asarray(pages * self._info.page_size + positions % self._info.page_size)

    def _next_token(self, kv: np.ndarray) -> int:
        digest = blake2b(kv.tobytes(), digest_size=8, person=b"next").digest()
        return int.from_bytes(digest, "little") % self._info.vocab_size


def _rows(batch: ForwardBatch) -> list[tuple[int, int, int]]:
    """Slot, first and end position computed, by row."""
    return list(zip(batch.slots.tolist(), batch.cached_lens.tolist(), batch.seq_lens.tolist(), strict=True))


def _kv_value(previous: int, token: int, position: int) -> int:
    """Never 0, which is what was not written."""
    digest = blake2b(struct.pack("<Qqq", previous, token, position), digest_size=8, person=b"kv").digest()
    return int.from_bytes(digest, "little") | 1
