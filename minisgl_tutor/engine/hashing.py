"""An engine for tests: the next token is a hash of exactly what its row makes it read.

K/V of a position is a hash of the token there and of the K/V before it, as a
model's is a function of the whole prefix; the next token is a hash of all K/V
of the row. So a wrong page, slot, position or token anywhere changes the
output, and the right output can be computed without any batching
(``expected_tokens``).

Of the sampling values only those have a part in it that need a row's tokens or
change its scores: where there are penalties or biases, the token is a hash of
them and of what the token pool has as generated, too. The token that comes
without them is the likeliest, and each behind it in the vocabulary less likely.

With ``lag`` a step runs only when the next one is launched or its tokens are
asked for, yet what the host writes for a launch (page table, prompt tokens)
lands at once: the order that careless CUDA streams may produce. A slot that is
given away while a step in flight still uses it then corrupts the output.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Mapping, Sequence
from hashlib import blake2b

import numpy as np

from ..language import Sentence
from .base import EngineError, EngineInfo, ForwardBatch, Logprobs

_UNMAPPED = -1

RARER = 0.125
"""By so much a token's logprob is below that of the one before it."""


class HashingStep:
    """A launched step (``ForwardOutput``)."""

    def __init__(self, engine: HashingEngine, batch: ForwardBatch) -> None:
        self._engine = engine
        self.batch = batch
        self.tokens: list[int] | None = None
        self.likeliest: list[int] = []

    def next_tokens(self) -> list[int]:
        if self.tokens is None:
            self._engine.run_pending()
        assert self.tokens is not None
        return self.tokens

    def logprobs(self) -> Logprobs:
        tokens, wanted = self.next_tokens(), self.batch.sampling.logprobs
        assert wanted is not None, "no row of the step asked for logprobs"
        size = self._engine.info.vocab_size
        chosen, likeliest = np.array([(tokens[row], self.likeliest[row]) for row in wanted.rows]).T
        ranks = np.arange(min(wanted.top, size))
        top_tokens = (likeliest[:, None] + ranks) % size
        top_ranks = np.broadcast_to(ranks, top_tokens.shape)
        return Logprobs(_logprob((chosen - likeliest) % size), top_tokens, _logprob(top_ranks))


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
            step.tokens, step.likeliest = self._run(step.batch)

    def close(self) -> None:
        self._pending = None

    def expected_tokens(
        self,
        prompt: Sequence[int],
        max_tokens: int,
        eos: Collection[int] = (),
        ignore_eos: bool = False,
        penalties: tuple[float, float] = (0.0, 0.0),
        biases: Mapping[int, float] | None = None,
    ) -> list[int]:
        """The right output for ``prompt``, computed alone: up to ``max_tokens``, or up to and with an EOS.

        ``penalties`` are those for presence and for frequency.
        """
        kv: list[int] = []
        for token in prompt:
            kv.append(_kv_value(kv[-1] if kv else 0, token, len(kv)))
        output: list[int] = []
        while len(output) < max_tokens:
            changes = _penalty_bytes(*penalties, output) if any(penalties) else b""
            token = self._next_token(np.array(kv, "<u8"), changes + _bias_bytes(biases or {}))
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
        penalties = batch.sampling.penalties
        if penalties is not None:
            self._token_pool[penalties.known_slots, penalties.known_columns] = penalties.known_tokens

    def _run(self, batch: ForwardBatch) -> tuple[list[int], list[int]]:
        """By row, the token that is drawn and the one that is likeliest."""
        for slot, start, end in _rows(batch):
            where = self._locations(slot, end)
            value = int(self._kv[where[start - 1]]) if start else 0
            for position in range(start, end):
                value = _kv_value(value, int(self._token_pool[slot, position]), position)
                self._kv[where[position]] = value
        changes = self._changes(batch)
        tokens, likeliest = [-1] * len(batch.uids), [-1] * len(batch.uids)
        for row, (slot, _, end) in enumerate(_rows(batch)):
            if batch.emits[row]:
                kv = self._kv[self._locations(slot, end)]
                likeliest[row] = self._next_token(kv)
                tokens[row] = self._next_token(kv, changes[row]) if row in changes else likeliest[row]
                self._token_pool[slot, end] = tokens[row]
        return tokens, likeliest

    def _changes(self, batch: ForwardBatch) -> dict[int, bytes]:
        """By row, what penalties and biases there are."""
        changes: dict[int, bytes] = {}
        penalties, biases = batch.sampling.penalties, batch.sampling.biases
        if penalties is not None:
            columns = (penalties.rows, penalties.begins, penalties.presences, penalties.frequencies)
            for row, begin, presence, frequency in zip(*(x.tolist() for x in columns), strict=True):
                generated = self._token_pool[batch.slots[row], begin : batch.seq_lens[row]].tolist()
                changes[row] = _penalty_bytes(presence, frequency, generated)
        if biases is not None:
            for row in set(biases.rows.tolist()):
                own = biases.rows == row
                pairs = zip(biases.tokens[own].tolist(), biases.values[own].tolist(), strict=True)
                changes[row] = changes.get(row, b"") + _bias_bytes(dict(pairs))
        return changes

    def _locations(self, slot: int, length: int) -> np.ndarray:
        """Where the K/V of the first ``length`` positions of a row lie."""
        positions = np.arange(length)
        pages = self._page_table[slot, positions // self._info.page_size]
        if (pages == _UNMAPPED).any():
            raise EngineError(
                Sentence(
                    "slot {slot} has {length} positions, but not a page for each of them",
                    slot=slot,
                    length=length,
                )
            )
        return np.asarray(pages * self._info.page_size + positions % self._info.page_size)

    def _next_token(self, kv: np.ndarray, changes: bytes = b"") -> int:
        digest = blake2b(kv.tobytes() + changes, digest_size=8, person=b"next").digest()
        return int.from_bytes(digest, "little") % self._info.vocab_size


def _rows(batch: ForwardBatch) -> list[tuple[int, int, int]]:
    """Slot, first and end position computed, by row."""
    return list(zip(batch.slots.tolist(), batch.cached_lens.tolist(), batch.seq_lens.tolist(), strict=True))


def _penalty_bytes(presence: float, frequency: float, generated: Sequence[int]) -> bytes:
    """The order of what was generated has no part in it."""
    return struct.pack(f"<ff{len(generated)}q", presence, frequency, *sorted(generated))


def _bias_bytes(biases: Mapping[int, float]) -> bytes:
    return b"".join(struct.pack("<qf", token, biases[token]) for token in sorted(biases))


def _logprob(ranks: np.ndarray) -> np.ndarray:
    return np.asarray(-RARER * (1 + ranks), np.float32)


def _kv_value(previous: int, token: int, position: int) -> int:
    """Never 0, which is what was not written."""
    digest = blake2b(struct.pack("<Qqq", previous, token, position), digest_size=8, person=b"kv").digest()
    return int.from_bytes(digest, "little") | 1
