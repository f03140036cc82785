"""Short prefill steps as CUDA graphs: captured once for some numbers of tokens, replayed for every step.

Launched one by one, the kernels of a step keep the host busy ten times longer than a short
prompt keeps the GPU. As with decode, a replay reads its rows from one small buffer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from ..attention.base import PromptBackend, PromptStep
from ..language import Sentence
from ..models.decoder import Decoder
from ..progress import Advance, progress
from .base import ForwardBatch
from .cuda_graph import Tables
from .packed_prompt import MAX_ROWS, SIZES, pack_prompt, packed_length, tile_count

TOKENS_AT_ONCE = 64


@dataclass(frozen=True)
class CapturedPrompt:
    """One graph, and all tensors from outside of it that its replays read and write: they must live on."""

    graph: torch.cuda.CUDAGraph
    inputs: Tensor
    tokens: Tensor
    logits: Tensor


class PromptGraphs:
    """All captured sizes."""

    def __init__(self, model: Decoder, backend: PromptBackend, tables: Tables) -> None:
        self.model = model
        self.backend = backend
        self.tables = tables
        self._graphs: dict[int, CapturedPrompt] = {}

    def covers(self, batch: ForwardBatch) -> bool:
        """Whether ``batch`` is a prefill step that fits one of the sizes."""
        if batch.phase != "prefill" or not self._graphs or len(batch.slots) > MAX_ROWS:
            return False
        return len(batch.input_ids) <= SIZES[-1]

    def replay(self, batch: ForwardBatch) -> Tensor:
        """Launches the step, whose pages are in the page table already.

        Scores for each row that emits, until the next replay.
        """
        size = next(size for size in SIZES if size >= len(batch.input_ids))
        captured = self._graphs[size]
        # Pinned memory comes from an allocator that keeps it until the copy is done.
        buffer = torch.empty(packed_length(size), dtype=torch.int32, pin_memory=True)
        pack_prompt(buffer.numpy(), size, batch, self.tables.spare_slot)
        captured.inputs.copy_(buffer, non_blocking=True)
        captured.graph.replay()
        return captured.logits[: int(batch.emits.sum())]

    def rehearse(self) -> None:
        """The smallest step, without rows, for ``compile_ahead``."""
        self._step(*self._new_inputs(SIZES[0]))

    def capture(self) -> None:
        """All sizes; before that, no step is covered."""
        with progress(Sentence("capturing prefill steps"), len(SIZES), self.model.group.rank) as advance:
            self._graphs = dict(self._capture_all(advance))

    def _capture_all(self, advance: Advance) -> Iterable[tuple[int, CapturedPrompt]]:
        pool = None
        # The largest first: the others then live in its memory.
        for size in reversed(SIZES):
            inputs, tokens = self._new_inputs(size)
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                self._step(inputs, tokens)  # libraries are set up outside of the capture
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            # Only this thread is held to what can be captured: NCCL has one that looks after it.
            with torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
                logits = self._step(inputs, tokens)
            pool = pool or graph.pool()
            advance(1)
            yield size, CapturedPrompt(graph, inputs, tokens, logits)

    def _new_inputs(self, size: int) -> tuple[Tensor, Tensor]:
        """What the host fills, and ids, positions and locations of the tokens, [3, size]."""
        device = self.tables.page_table.device
        inputs = torch.zeros(packed_length(size), dtype=torch.int32, device=device)
        inputs[size : 2 * size] = self.tables.spare_slot
        return inputs, torch.zeros(3, size, dtype=torch.int64, device=device)

    def _step(self, inputs: Tensor, tokens: Tensor) -> Tensor:
        """One prefill step from inputs to scores, as device work alone."""
        tables = self.tables
        input_ids, positions, locations = tokens
        size = len(input_ids)
        place_tokens[(triton.cdiv(size, TOKENS_AT_ONCE),)](
            inputs,
            size,
            tables.page_table,
            tables.page_table.shape[1],
            tables.page_size,
            input_ids,
            positions,
            locations,
            BLOCK=TOKENS_AT_ONCE,
            num_warps=2,
        )
        last_tokens = inputs[3 * size : 3 * size + MAX_ROWS].long()
        tiles = inputs[3 * size + MAX_ROWS :].view(4, tile_count(size))
        plan = self.backend.capture(PromptStep(tables.page_table, tiles, locations))
        return self.model.forward(input_ids, positions, self.backend, plan, last_tokens)


@triton.jit(do_not_specialize=["size", "pages_per_row", "page_size"])
def place_tokens(
    inputs: tl.tensor,
    size: tl.tensor,
    page_table: tl.tensor,
    pages_per_row: tl.tensor,
    page_size: tl.tensor,
    input_ids: tl.tensor,
    positions: tl.tensor,
    locations: tl.tensor,
    BLOCK: tl.constexpr,
) -> None:
    """Looks up where each token's K and V go."""
    token = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    slot = tl.load(inputs + size + token).to(tl.int64)
    position = tl.load(inputs + 2 * size + token)
    page = tl.load(page_table + slot * pages_per_row + position // page_size).to(tl.int64)
    tl.store(input_ids + token, tl.load(inputs + token).to(tl.int64))
    tl.store(positions + token, position.to(tl.int64))
    tl.store(locations + token, page * page_size + position % page_size)
