"""What one server is made of. The same values build it for ``serve``, ``trace`` and ``check``."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

API_KEY_VARIABLE = "MINISGL_TUTOR_API_KEY"
"""The environment variable that holds the key, for the server and for ``chat``."""


@dataclass(frozen=True)
class SchedulerConfig:
    """How the scheduler works.

    ``prefill_budget`` is the number of prompt tokens that one prefill step may
    compute; a longer prompt is computed in chunks. ``cache`` chooses the prefix
    cache, ``overlap`` the loop. ``seed`` makes the seeds that the scheduler
    gives to requests without one repeatable.

    ``admission`` tells how many requests may share the K/V cache. ``reserve`` lets
    one in only if its longest answer will fit, as the reference does.
    ``optimistic`` looks no further than the next ``head_room`` tokens of each
    answer; if pages run out, the youngest request gives its own back and is
    computed again later.
    """

    prefill_budget: int = 2048
    cache: Literal["radix", "naive"] = "radix"
    overlap: bool = True
    seed: int | None = None
    admission: Literal["optimistic", "reserve"] = "optimistic"
    head_room: int = 64


@dataclass(frozen=True)
class Limits:
    """What one client may ask of the HTTP service, and how long anything may take. Times are in seconds.

    ``max_body_bytes`` bounds a request's body, ``body_timeout`` the time that it may
    take to arrive, ``max_prompt_chars`` the text in it; the model's context is a
    bound of its own. Beyond the requests that can run, ``max_waiting`` may wait.
    A request that has no token after ``first_token_timeout``, or no end after
    ``request_timeout``, is ended. So is a connection that has had no request for
    ``idle_timeout``, or that took nothing of what is sent for ``write_timeout``.
    ``shutdown_timeout`` is what running requests get when the server is to stop, and
    ``grace`` what connections then get to take what they are still to be told. A
    worker hangs if it gives no sign for ``hung_after``, or is in one round of its
    loop for ``stuck_after``.
    """

    max_body_bytes: int = 16 << 20
    body_timeout: float = 60
    max_prompt_chars: int = 2_000_000
    max_waiting: int = 1024
    first_token_timeout: float = 600
    request_timeout: float = 3600
    idle_timeout: float = 75
    write_timeout: float = 60
    shutdown_timeout: float = 20
    hung_after: float = 10
    stuck_after: float = 600
    grace: float = 3


@dataclass(frozen=True)
class ServerArgs:
    """All that ``serve`` takes (the reference's name).

    ``model`` is a directory, a GGUF file, an id at the hub ``model_source``, or
    ``None`` for the model that ships with the package. The K/V pool has the type
    ``dtype``, or holds 8-bit numbers if ``kv_cache_dtype`` is "fp8". Sizes of ``None``
    are chosen from the model and the machine. ``num_tokenizer`` 0 shares one worker
    with the detokenizer.
    ``backlog_limit`` bounds the replies that may wait for one client that does
    not read, and ``backlog_bytes`` the bytes in them; ``limits`` are those of the
    HTTP service. Its clients need ``api_key``, if there is one, and web pages of
    ``allow_origins`` may be clients. On a GPU, ``attn`` names the attention (one name, or prefill,decode),
    ``memory_ratio`` is the part of the memory that weights and K/V pool may take, and
    decode steps of up to ``cuda_graph_max_bs`` requests are captured, 0 for none.
    ``record`` names a file that the run is recorded to, with every
    message if ``record_messages`` says so, up to ``record_max_bytes`` (0: any number) or on in
    further files, of which the last ``record_rotate`` are kept, and with ``redact`` without any
    text. ``profile`` names a file for an account of what
    the scheduler does when, and ``torch_profile`` a directory for torch's trace of some
    steps. ``step_ms`` slows a step of the model
    down to that many milliseconds. With ``debug_endpoints`` clients may ask who holds what.
    ``tp`` ranks share the model, each with a process, and
    with ``device`` "cuda" a GPU, of its own; ``all_reduce`` "nccl" keeps to NCCL for all sums over them.
    """

    model: str | None = None
    model_source: Literal["huggingface", "modelscope"] = "huggingface"
    host: str = "127.0.0.1"
    port: int = 1919
    num_tokenizer: int = 1
    device: str = "cpu"
    tp: int = 1
    all_reduce: Literal["auto", "nccl"] = "auto"
    attn: str = "auto"
    dtype: Literal["bfloat16", "float16", "float32"] = "bfloat16"
    kv_cache_dtype: Literal["auto", "fp8"] = "auto"
    dummy_weight: bool = False
    threads: int | None = None
    page_size: int = 16
    num_pages: int | None = None
    memory_ratio: float = 0.85
    cuda_graph_max_bs: int | None = None
    max_running_req: int = 64
    max_seq_len: int | None = None
    backlog_limit: int = 4096
    backlog_bytes: int = 1 << 20
    limits: Limits = Limits()
    api_key: str | None = field(default=None, repr=False)
    allow_origins: tuple[str, ...] = ()
    scheduler: SchedulerConfig = SchedulerConfig()
    gaps: tuple[str, ...] = ()
    record: str | None = None
    record_messages: bool = False
    record_max_bytes: int = 0
    record_rotate: int = 0
    redact: bool = False
    profile: str | None = None
    torch_profile: str | None = None
    step_ms: int = 0
    debug_endpoints: bool = False
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    @property
    def served_model(self) -> str:
        """The name that clients see: a hub id, the last part of a path, or that of the shipped model."""
        if self.model is None:
            return "minisgl-tutor"
        path = Path(self.model).expanduser()
        return path.resolve().name if path.exists() else self.model
