"""The engine on an NVIDIA GPU: the same steps, launched without waiting, decode from CUDA graphs."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..attention.base import AttentionBackend, DecodeBackend, PromptBackend
from ..models.decoder import Decoder
from .adjust import adjusted
from .base import EngineInfo, ForwardBatch
from .compile_ahead import compile_ahead
from .cuda_graph import DecodeGraphs, Tables
from .engine import TorchEngine, TorchOutput
from .gumbel import GumbelSampler, other_rows
from .prompt_graph import PromptGraphs
from .transfer import to_device


class CudaEngine(TorchEngine):
    """Everything runs on one stream, in the order of the calls, so a step sees what those before it wrote.

    The host waits in ``next_tokens`` alone. What it hands over goes through pinned
    memory that is not used again before the copy from it is done.
    """

    spare_rows = 1

    def __init__(
        self,
        model: Decoder,
        backend: AttentionBackend,
        info: EngineInfo,
        device: torch.device,
        spare_page: int,
    ) -> None:
        super().__init__(model, backend, info, device, GumbelSampler(info.vocab_size, device))
        self.page_table[-1] = spare_page
        self.graphs: DecodeGraphs | None = None
        self.prompt_graphs: PromptGraphs | None = None

    @torch.inference_mode()
    def capture(self, decode: DecodeBackend, max_rows: int, prompt: PromptBackend | None) -> None:
        """Replays decode steps of up to ``max_rows`` rows from now on, with ``prompt`` short prefills too.

        It warms up in between, when the kernels are compiled.
        """
        tables = Tables(self.page_table, self.token_pool, self.info.num_slots, self.info.page_size)
        self.graphs = DecodeGraphs(self.model, decode, tables, min(max_rows, self.info.num_slots))
        captured: list[DecodeGraphs | PromptGraphs] = [self.graphs]
        if prompt is not None:
            self.prompt_graphs = PromptGraphs(self.model, prompt, tables)
            captured.append(self.prompt_graphs)
        compile_ahead([graphs.rehearse for graphs in captured], self.model.group.rank)
        self.warm_up()
        for graphs in captured:
            graphs.capture()

    @torch.inference_mode()
    def logits(self, batch: ForwardBatch) -> Tensor:
        if self.prompt_graphs is None or not self.prompt_graphs.covers(batch):
            return super().logits(batch)
        self._update_page_table(batch.table_update)
        return self.prompt_graphs.replay(batch)

    def _forward(self, batch: ForwardBatch) -> TorchOutput:
        replayed = None
        if self.graphs is not None and self.graphs.covers(batch):
            replayed = self.graphs.replay(batch)
        if replayed is None:
            return super()._forward(batch)
        logits, tokens = replayed
        rows = np.arange(len(batch.slots))
        others = other_rows(batch.sampling, self.info.vocab_size)
        if len(others):
            self._redraw(batch, logits, tokens, others)
        return self._output(batch, logits, tokens, rows)

    def _redraw(self, batch: ForwardBatch, logits: Tensor, tokens: Tensor, rows: np.ndarray) -> None:
        """The graph knows temperatures alone: rows that ask for more are drawn again."""
        args = self.sampler.prepare(batch.sampling, rows)
        index = to_device(rows, self.device)
        scores = adjusted(logits[index], batch, rows, self.token_pool)
        tokens[index] = drawn = self.sampler.sample(scores, args)
        slots, columns = self._move(batch.slots[rows]), self._move(batch.seq_lens[rows])
        self.token_pool[slots, columns] = drawn
