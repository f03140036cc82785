"""From server arguments to a torch engine that is ready to run."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..distributed.seat import Seat
from ..language import Sentence, sentence_of
from ..models.config import ModelConfig, load_model_config
from ..models.errors import ModelError
from ..models.resolve import resolve_model
from ..server.config import ServerArgs
from .base import EngineError, EngineInfo
from .build_cuda import build_cuda_engine, gpu_ops
from .process import default_threads

if TYPE_CHECKING:
    import torch

    from ..distributed.group import Group, TorchGroup
    from ..models.decoder import Decoder
    from .engine import TorchEngine

MAX_SEQ_LEN = 8192
POOL_SEQ_LEN = 4096
POOL_BYTES_ON_CPU = 2 << 30
POOL_SHARE = 0.5


def join_group(args: ServerArgs, seat: Seat) -> TorchGroup:
    """Meets the other ranks of a model. Imports torch; ``prepare_process`` comes before it.

    Raises:
        ModelError: the device is not there, or the others are not.
    """
    import torch

    from ..distributed.group import TorchGroup

    one_shot = getattr(torch, args.dtype) if args.all_reduce == "auto" else None
    return TorchGroup.join(seat, find_device(args.device), one_shot)


def build_engine(args: ServerArgs, group: Group | None = None) -> TorchEngine:
    """Loads the model and makes the engine. Imports torch; ``prepare_process`` comes before it.

    With a ``group`` the engine has this rank's part of the model. It must get the same steps in the
    same order as those of the other ranks, and gives the same tokens.

    Raises:
        ModelError: the model, the device or a size in ``args`` cannot be used; one sentence says why.
    """
    import torch

    from ..attention.choose import choose
    from ..distributed.group import Alone
    from ..models.decoder import Decoder
    from ..models.weights import dummy_weights, load_weights
    from .kv_cache import stored_type

    torch.set_num_threads(args.threads or default_threads())
    device = find_device(args.device)
    dtype: torch.dtype = getattr(torch, args.dtype)
    model_dir = resolve_model(args.model, args.dtype, args.model_source)
    config = load_model_config(model_dir)
    max_seq_len = sequence_limit(args, config)
    chosen = choose(args.attn, config, dtype, device)

    group = group or Alone()
    ops = gpu_ops() if device.type == "cuda" else None
    try:
        decoder = Decoder(config, max_seq_len + 1, dtype, device, ops, group)
    except torch.OutOfMemoryError:
        raise ModelError(
            Sentence(
                "The weights of {model_dir} do not fit into the memory of this GPU.", model_dir=model_dir
            )
        ) from None
    if args.dummy_weight:
        dummy_weights(decoder)
    else:
        load_weights(decoder, model_dir)
    local = decoder.shard.local
    info = plan_sizes(args, local, stored_type(args.kv_cache_dtype, dtype), device)
    info = replace(info, num_pages=group.smallest(info.num_pages))
    try:
        if device.type == "cuda":
            return build_cuda_engine(args, chosen, local, decoder, info, dtype, device)
        return build_cpu_engine(args, local, decoder, info, dtype, device)
    except EngineError as error:
        raise ModelError(
            Sentence(
                "The model in {model_dir} does not run: {reason}",
                model_dir=model_dir,
                reason=sentence_of(error),
            )
        ) from None


def build_cpu_engine(
    args: ServerArgs,
    config: ModelConfig,
    decoder: Decoder,
    info: EngineInfo,
    dtype: torch.dtype,
    device: torch.device,
) -> TorchEngine:
    """An engine with its pool, which has computed a first token."""
    from ..attention.sdpa import SDPABackend
    from .engine import TorchEngine
    from .kv_cache import KVCache, stored_type

    stored = stored_type(args.kv_cache_dtype, dtype)
    cache = KVCache(config, info.num_pages, info.page_size, dtype, device, stored)
    engine = TorchEngine(decoder, SDPABackend(cache), info, device)
    engine.warm_up()
    return engine


def find_device(name: str) -> torch.device:
    """The device of that name, if this machine has it.

    Raises:
        ModelError: it has not.
    """
    import torch

    try:
        device = torch.device(name)
    except RuntimeError:
        raise ModelError(Sentence("{name} is not a device; give cpu or cuda.", name=name)) from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ModelError(
            Sentence("PyTorch finds no GPU here; give --device cpu, or install a CUDA build of torch.")
        )
    return device


def sequence_limit(args: ServerArgs, config: ModelConfig) -> int:
    """How many tokens one request may have.

    Raises:
        ModelError: the arguments ask for more than the model has positions, or than its sliding window.
    """
    window = config.sliding_window or config.max_positions
    max_seq_len = args.max_seq_len or min(config.max_positions, window, MAX_SEQ_LEN)
    if max_seq_len > config.max_positions:
        raise ModelError(
            Sentence(
                "--max-seq-len {max_seq_len} is beyond the model's {most} positions.",
                max_seq_len=max_seq_len,
                most=config.max_positions,
            )
        )
    if max_seq_len > window:
        raise ModelError(
            Sentence(
                "--max-seq-len {max_seq_len} is beyond the model's sliding window of {window} tokens, "
                "and windows do not slide here; give at most {window}.",
                max_seq_len=max_seq_len,
                window=window,
            )
        )
    return max_seq_len


def plan_sizes(
    args: ServerArgs, config: ModelConfig, stored: torch.dtype, device: torch.device
) -> EngineInfo:
    """Sizes from the arguments where given, otherwise from the model and the memory that it left.

    ``stored`` is the type of the K/V pool.

    Raises:
        ModelError: the arguments ask for more than the model or the memory has.
    """
    from .kv_cache import kv_bytes_per_token

    max_seq_len = sequence_limit(args, config)
    page_bytes = args.page_size * kv_bytes_per_token(config, stored)
    affordable = pool_bytes(device, args.memory_ratio) // page_bytes
    wanted = args.max_running_req * -(-min(max_seq_len, POOL_SEQ_LEN) // args.page_size)
    num_pages = args.num_pages or min(wanted, affordable)
    if num_pages < 1:
        raise ModelError(
            Sentence(
                "There is no memory for the K/V pool: one page takes {page_bytes} bytes.",
                page_bytes=page_bytes,
            )
        )
    if device.type == "cpu" and num_pages * page_bytes > available_memory():
        wanted_gb, free_gb = num_pages * page_bytes / 1e9, available_memory() / 1e9
        raise ModelError(
            Sentence(
                "--num-pages {num_pages} take {wanted_gb:.3g} GB, of which this machine has "
                "{free_gb:.3g} free.",
                num_pages=num_pages,
                wanted_gb=wanted_gb,
                free_gb=free_gb,
            )
        )
    return EngineInfo(args.page_size, num_pages, args.max_running_req, max_seq_len, config.vocab_size)


def pool_bytes(device: torch.device, memory_ratio: float) -> int:
    """How much memory the K/V pool may take. On a GPU it, the weights and all else take ``memory_ratio``."""
    import torch

    if device.type == "cuda":
        free, total = torch.cuda.mem_get_info(device)
        return int(free - (1 - memory_ratio) * total)
    return min(POOL_BYTES_ON_CPU, int(available_memory() * POOL_SHARE))


def available_memory() -> int:
    """Bytes that this machine could still give, by /proc/meminfo where there is one."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
