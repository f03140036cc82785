"""The engine that runs a model with PyTorch.

It owns what lives on the device: weights, K/V pool, page table and token pool.
The device is an argument; nothing below waits for it, except that reading the
tokens of a step does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..attention.base import AttentionBackend, AttentionBatch
from ..language import Sentence
from ..models.decoder import Decoder
from .adjust import adjusted
from .base import EngineError, EngineInfo, ForwardBatch, Logprobs, SamplingBatch, TableUpdate
from .logprobs import LogprobsUnderWay, find_logprobs
from .sample import Sampler, StepSampler
from .transfer import to_device


@dataclass(frozen=True)
class TorchOutput:
    """The new tokens of one step, on the device and on their way to the host (C2.90).

    Both hold one token for each row in ``emitting``; ``copied`` says when the host's are there.
    """

    next_tokens_gpu: Tensor
    next_tokens_cpu: Tensor
    emitting: np.ndarray
    rows: int
    copied: torch.cuda.Event | None
    scored: LogprobsUnderWay | None = None

    def next_tokens(self) -> list[int]:
        """One token a row, -1 for a row that emits none. Waits for the step."""
        self._wait()
        tokens = np.full(self.rows, -1, dtype=np.int64)
        tokens[self.emitting] = self.next_tokens_cpu.numpy()
        return [int(token) for token in tokens]

    def logprobs(self) -> Logprobs:
        """Those that were asked for. Waits for the step."""
        assert self.scored is not None, "no row of the step asked for logprobs"
        self._wait()
        return self.scored.arrived()

    def _wait(self) -> None:
        if self.copied is not None:
            self.copied.synchronize()


class TorchEngine:
    """Runs steps of a decoder. On a CPU a step has run when ``forward_batch`` returns."""

    spare_rows = 0
    """Rows of page table and token pool behind those of the slots."""

    def __init__(
        self,
        model: Decoder,
        backend: AttentionBackend,
        info: EngineInfo,
        device: torch.device,
        sampler: StepSampler | None = None,
    ) -> None:
        self.model = model
        self.backend = backend
        self.device = device
        self.sampler = sampler or Sampler(info.vocab_size, device)
        pages_per_row = -(-(info.max_seq_len + 1) // info.page_size)
        rows = info.num_slots + self.spare_rows
        self.page_table = torch.zeros(rows, pages_per_row, dtype=torch.int32, device=device)
        self.token_pool = torch.zeros(rows, info.max_seq_len + 1, dtype=torch.int32, device=device)
        self._info = info

    @property
    def info(self) -> EngineInfo:
        return self._info

    def forward_batch(self, batch: ForwardBatch) -> TorchOutput:
        """Model, sampler, token pool, copy to the host, in that order (C2.91, C2.92).

        Raises:
            EngineError: the device refused, for want of memory for instance.
        """
        try:
            with torch.inference_mode():
                return self._forward(batch)
        except RuntimeError as error:
            reason = str(error).splitlines()[0]
            raise EngineError(
                Sentence(
                    "A {phase} step of {len} rows failed: {reason}",
                    phase=batch.phase,
                    len=len(batch.uids),
                    reason=reason,
                )
            ) from error

    @torch.inference_mode()
    def logits(self, batch: ForwardBatch) -> Tensor:
        """The step without sampling: scores for each row that emits, shape [emitting, vocab] (C2.93)."""
        self._update_page_table(batch.table_update)
        new_lens = batch.seq_lens - batch.cached_lens
        ends = np.cumsum(new_lens)
        row_of_token = np.repeat(np.arange(len(new_lens)), new_lens)
        positions = np.arange(ends[-1]) - (ends - new_lens - batch.cached_lens)[row_of_token]

        slots, token_positions = self._move(batch.slots), self._move(positions)
        if batch.phase == "decode":
            input_ids = self.token_pool[slots, token_positions].long()
        else:
            input_ids = self._move(batch.input_ids)
        pages, locations = self._pages(slots, batch.seq_lens, self._move(row_of_token), token_positions)
        plan = self.backend.plan(AttentionBatch(batch.cached_lens, batch.seq_lens, pages, locations))
        last_tokens = self._move(ends[batch.emits] - 1)
        return self.model.forward(input_ids, token_positions, self.backend, plan, last_tokens)

    def warm_up(self) -> None:
        """Computes one token in page 0 and slot 0, which must still be free.

        Raises:
            EngineError: the model gives scores that are not numbers, or the device refused.
        """
        zero, one = np.zeros(1, np.int32), np.ones(1, np.int32)
        greedy = SamplingBatch(
            np.zeros(1, np.float32), -one, np.ones(1, np.float32), np.zeros(1, np.uint64), one
        )
        update = TableUpdate(slots=zero, columns=zero, pages=zero)
        batch = ForwardBatch("prefill", [0], zero, zero, one, zero, update, np.ones(1, bool), greedy)
        self.forward_batch(batch).next_tokens()
        if not self.logits(batch).isfinite().all():
            raise EngineError(
                Sentence("its scores are not numbers; the weights are damaged, or need --dtype float32")
            )

    def close(self) -> None:
        """Nothing outlives the engine."""

    def _forward(self, batch: ForwardBatch) -> TorchOutput:
        emitting = np.flatnonzero(batch.emits)
        args = self.sampler.prepare(batch.sampling, emitting)
        logits = self.logits(batch)
        next_tokens_gpu = self.sampler.sample(adjusted(logits, batch, emitting, self.token_pool), args)
        slots, columns = self._move(batch.slots[emitting]), self._move(batch.seq_lens[emitting])
        self.token_pool[slots, columns] = next_tokens_gpu.int()
        return self._output(batch, logits, next_tokens_gpu, emitting)

    def _output(
        self, batch: ForwardBatch, logits: Tensor, tokens: Tensor, emitting: np.ndarray
    ) -> TorchOutput:
        """The handle on a step that was launched: what the host is to know of it goes on its way."""
        wanted = batch.sampling.logprobs
        scored = None if wanted is None else find_logprobs(logits, tokens, wanted, emitting)
        on_host = tokens.to("cpu", non_blocking=True)
        return TorchOutput(tokens, on_host, emitting, len(batch.uids), self._mark(), scored)

    def _update_page_table(self, update: TableUpdate) -> None:
        if len(update.slots):
            slots, columns = self._move(update.slots), self._move(update.columns)
            self.page_table[slots, columns] = self._move(update.pages).int()

    def _pages(
        self, slots: Tensor, seq_lens: np.ndarray, row_of_token: Tensor, positions: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The rows' pages and the place in the pool of each new token."""
        size = self.info.page_size
        width = -(-int(seq_lens.max()) // size)
        pages = self.page_table[slots, :width].long()
        locations = pages[row_of_token, positions // size] * size + positions % size
        return pages, locations

    def _move(self, values: np.ndarray) -> Tensor:
        """Indices from the host to the device, int64."""
        return to_device(values.astype(np.int64), self.device)

    def _mark(self) -> torch.cuda.Event | None:
        if self.device.type != "cuda":
            return None
        event = torch.cuda.Event()
        event.record()
        return event
