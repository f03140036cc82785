"""What one server is made of. The same values build it for ``serve``, ``trace`` and ``check``."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

API_KEY_VARIABLE = "MINISGL_TUTOR_API_KEY"
"""The environment variable that holds the key, for the server and for ``chat``."""

ModelSource = Literal["huggingface", "modelscope"]
Dtype = Literal["bfloat16", "float16", "float32"]
KVCacheDtype = Literal["auto", "fp8"]
AllReduce = Literal["auto", "nccl"]
CachePolicy = Literal["radix", "naive"]
AdmissionPolicy = Literal["optimistic", "reserve"]
LogLevel = Literal["debug", "info", "warning", "error"]


@dataclass(frozen=True)
class SchedulerConfig:
    """How the scheduler works."""

    prefill_budget: int = 2048
    """Prompt tokens that one prefill step may compute; a longer prompt is computed in chunks."""
    cache: CachePolicy = "radix"
    """The prefix cache: one that shares beginnings, or one that shares nothing."""
    overlap: bool = True
    """Whether the next step is scheduled while one runs."""
    seed: int | None = None
    """Makes the seeds repeatable that the scheduler gives to requests without one. None: they are random."""
    admission: AdmissionPolicy = "optimistic"
    """How many requests may share the K/V cache. ``reserve`` lets one in only if its longest answer will
    fit, as the reference does. ``optimistic`` looks no further than the next ``head_room`` tokens of each
    answer; if pages run out, the youngest request gives its own back and is computed again later."""
    head_room: int = 64
    """In tokens, for ``optimistic``."""


@dataclass(frozen=True)
class Limits:
    """What clients may ask of the HTTP service, and how long anything may take. Times are in seconds."""

    max_body_bytes: int = 16 << 20
    """Of one request's body: room for ``max_prompt_chars``, each an escape of six bytes."""
    max_bodies_bytes: int = 256 << 20
    """Of the bodies of all requests together: 16 of the largest, or many more of a usual size."""
    body_timeout: float = 60
    """For a body to arrive."""
    max_prompt_chars: int = 2_000_000
    """Of the text in a request, before it is tokenized; the model's context is a bound of its own."""
    max_waiting: int = 1024
    """Requests that may wait, beyond those that can run."""
    first_token_timeout: float = 600
    """For a request to have a token; then it is ended."""
    request_timeout: float = 3600
    """For a request to have its end; then it is ended."""
    idle_timeout: float = 75
    """That a connection without a request is kept: longer than the minute for which many proxies keep
    theirs, so that it is the proxy that closes one."""
    write_timeout: float = 60
    """That a client may take nothing of what is sent; then its connection is cut."""
    shutdown_timeout: float = 20
    """For running requests to end when the server is to stop; Kubernetes kills after 30."""
    hung_after: float = 10
    """Without a sign of life, of which a worker gives one a second; then it hangs."""
    stuck_after: float = 600
    """In one round of a worker's loop; then it hangs. A long prompt on a CPU may take minutes."""
    grace: float = 3
    """For connections to take what they are still to be told when the server ends."""


@dataclass(frozen=True)
class ServerArgs:
    """All that ``serve`` takes (the reference's name). None stands for what is chosen at the start."""

    model: str | None = None
    """A directory, a GGUF file, or an id at the hub. None: the model that ships with the package."""
    model_source: ModelSource = "huggingface"
    """The hub that an id is looked up at."""
    host: str = "127.0.0.1"
    """The address to listen on; by default nobody from elsewhere may ask."""
    port: int = 1919
    """The port to listen on, the reference's by default; 0 for any free one."""
    num_tokenizer: int = 1
    """Tokenizer processes. With 0 the detokenizer's process does both."""
    device: str = "cpu"
    """Where the model runs: ``cpu``, ``cuda`` or ``cuda:N``. Every machine has the first."""
    tp: int = 1
    """Ranks that share the model, each with a process, and on ``cuda`` a GPU, of its own."""
    all_reduce: AllReduce = "auto"
    """How ranks sum their results: ``nccl`` keeps to NCCL for all of them."""
    attn: str = "auto"
    """The attention on a GPU: one name, or two for prefill,decode. ``auto``: the fastest that is there."""
    dtype: Dtype = "bfloat16"
    """Of weights and K/V pool; what most models are published in."""
    kv_cache_dtype: KVCacheDtype = "auto"
    """Of the K/V pool: ``auto`` is ``dtype``, ``fp8`` holds 8-bit numbers."""
    dummy_weight: bool = False
    """Random weights, for which the model's config is enough."""
    threads: int | None = None
    """Of torch on a CPU. None: all cores, shared among the ranks."""
    page_size: int = 16
    """Tokens in a page of the K/V pool: only whole ones are shared."""
    num_pages: int | None = None
    """Of the K/V pool. None: what the memory has room for."""
    memory_ratio: float = 0.85
    """Part of a GPU's memory that weights and K/V pool may take; the rest is for activations."""
    cuda_graph_max_bs: int | None = None
    """Decode steps of up to so many requests are captured on a GPU, 0 for none. None: all, to 256."""
    max_running_req: int = 64
    """Requests that run at once."""
    max_seq_len: int | None = None
    """Tokens of one request, prompt and answer. None: what the model allows."""
    backlog_limit: int = 4096
    """Replies that may wait for one client that does not read."""
    backlog_bytes: int = 1 << 20
    """Bytes in them."""
    limits: Limits = Limits()
    """Those of the HTTP service."""
    api_key: str | None = field(default=None, repr=False)
    """What clients must send. None: anyone may ask."""
    allow_origins: tuple[str, ...] = ()
    """Web pages of these may be clients."""
    scheduler: SchedulerConfig = SchedulerConfig()
    """How the scheduler works."""
    gaps: tuple[str, ...] = ()
    """Names of the faults that are put back."""
    record: str | None = None
    """A file that the run is recorded to. None: it is not recorded."""
    record_messages: bool = False
    """Whether every message is recorded as well."""
    record_max_bytes: int = 0
    """Of the recording's file; then it ends, or goes on in a new one. 0: any number."""
    record_rotate: int = 0
    """Files that are kept behind the newest when a recording goes on in a new one. 0: it ends instead."""
    redact: bool = False
    """Whether the recording has no text and no token in it."""
    profile: str | None = None
    """A file for an account of what the scheduler does when. None: none is kept."""
    torch_profile: str | None = None
    """A directory for torch's trace of some steps. None: none is made."""
    step_ms: int = 0
    """Milliseconds that a step of the model takes at least."""
    debug_endpoints: bool = False
    """Whether clients may ask who holds what: it tells them of each other."""
    log_level: LogLevel = "info"
    """From which on the log tells."""

    @property
    def served_model(self) -> str:
        """The name that clients see: a hub id, the last part of a path, or that of the shipped model."""
        if self.model is None:
            return "minisgl-tutor"
        path = Path(self.model).expanduser()
        return path.resolve().name if path.exists() else self.model


DEFAULT_URL = f"http://{ServerArgs.host}:{ServerArgs.port}"
"""Where a server is that has been told nothing else."""
