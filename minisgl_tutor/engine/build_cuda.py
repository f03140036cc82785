"""The parts of an engine that are a GPU's: fused operations, attention, captured decode steps."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ..language import Sentence
from ..models.config import ModelConfig
from ..models.errors import ModelError
from ..server.config import ServerArgs
from .base import EngineInfo

if TYPE_CHECKING:
    import torch

    from ..attention.choose import Chosen
    from ..models.decoder import Decoder
    from ..models.ops import Ops
    from .cuda_engine import CudaEngine

LARGEST_GRAPH = 256
FP8_CAPABILITY = (8, 9)


def gpu_ops() -> Ops:
    """Fused operations.

    Raises:
        ModelError: Triton is missing, which comes with every CUDA build of torch for Linux.
    """
    if find_spec("triton") is None:
        raise ModelError(
            Sentence(
                "A GPU needs Triton, which this torch came without; install a CUDA build of torch for Linux."
            )
        )
    from ..models.triton_ops import TritonOps

    return TritonOps()


def build_cuda_engine(
    args: ServerArgs,
    chosen: Chosen,
    config: ModelConfig,
    decoder: Decoder,
    info: EngineInfo,
    dtype: torch.dtype,
    device: torch.device,
) -> CudaEngine:
    """An engine with its pool and its captured decode steps.

    Raises:
        ModelError: the memory does not suffice, or the GPU is too old for an 8-bit K/V cache.
    """
    import torch

    from ..attention.choose import decode_backend, eager_backend, prompt_backend
    from .cuda_engine import CudaEngine
    from .kv_cache import FP8, KVCache, stored_type
    from .packed_prompt import always_fits

    stored = stored_type(args.kv_cache_dtype, dtype)
    if stored == FP8 and torch.cuda.get_device_capability(device) < FP8_CAPABILITY:
        raise ModelError(
            Sentence(
                "--kv-cache-dtype fp8 needs a GPU of the Ada, Hopper or a later generation; leave it out "
                "here."
            )
        )
    try:
        cache = KVCache(config, info.num_pages + 1, info.page_size, dtype, device, stored)
        wanted = LARGEST_GRAPH if args.cuda_graph_max_bs is None else args.cuda_graph_max_bs
        max_rows = min(wanted, info.num_slots)
        decode = decode_backend(chosen, cache, config.num_heads, max_rows) if max_rows else None
        prompt = prompt_backend(chosen, cache) if decode is not None else None
        if prompt is not None and always_fits(args.scheduler.prefill_budget, info.num_slots):
            # Nothing is left for FlashInfer, which takes long to load, and minutes to build if nobody did.
            chosen = replace(chosen, prefill="sdpa")
        eager = eager_backend(chosen, cache, config.num_heads)
        engine = CudaEngine(decoder, eager, info, device, spare_page=info.num_pages)
        if decode is None:
            engine.warm_up()
        else:
            engine.capture(decode, max_rows, prompt)
    except torch.OutOfMemoryError:
        raise ModelError(
            Sentence("The GPU's memory does not suffice; give a lower --memory-ratio or fewer --num-pages.")
        ) from None
    return engine
