"""Builds the components of a server. ``serve``, ``trace`` and ``check`` all build them here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..gaps import with_gaps
from ..links import AsyncPull, AsyncPush, SyncPull, SyncPush
from .config import ServerArgs

if TYPE_CHECKING:
    from ..engine.base import Engine
    from ..scheduler.scheduler import Scheduler
    from ..tokenizer.load import Tokenizer
    from ..tokenizer.server import TokenizeWorker
    from .frontend import FrontendManager

# Each process imports only what it runs: the API server knows no scheduler, and no worker knows FastAPI.


def build_frontend(
    args: ServerArgs,
    send_tokenizers: Sequence[AsyncPush],
    recv_tokenizer: AsyncPull,
    base: type[FrontendManager] | None = None,
) -> FrontendManager:
    """The front end's state; ``base`` is a class to take in the place of ``FrontendManager``."""
    from .frontend import FrontendManager

    cls = with_gaps(base or FrontendManager, args.gaps)
    return cls(
        send_tokenizers,
        recv_tokenizer,
        args.backlog_limit,
        args.backlog_bytes,
        args.limits.max_prompt_chars,
    )


def build_tokenize_worker(
    args: ServerArgs,
    tokenizer: Tokenizer,
    recv_listener: SyncPull,
    send_backend: SyncPush,
    send_frontend: SyncPush,
) -> TokenizeWorker:
    """A worker for either job: it tokenizes and detokenizes, by the type of the message."""
    from ..tokenizer.detokenize import DetokenizeManager
    from ..tokenizer.server import TokenizeWorker
    from ..tokenizer.tokenize import TokenizeManager

    return with_gaps(TokenizeWorker, args.gaps)(
        recv_listener,
        send_backend,
        send_frontend,
        TokenizeManager(tokenizer),
        with_gaps(DetokenizeManager, args.gaps)(tokenizer),
    )


def build_scheduler(
    args: ServerArgs,
    engine: Engine,
    eos_token_ids: frozenset[int],
    recv_tokenizer: SyncPull,
    send_detokenizer: SyncPush,
) -> Scheduler:
    from ..scheduler.scheduler import Scheduler

    cls = with_gaps(Scheduler, args.gaps)
    return cls(engine, args.scheduler, eos_token_ids, recv_tokenizer, send_detokenizer)
