"""Builds the components of a server. ``serve``, ``trace`` and ``check`` all build them here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from ..gaps import with_gaps
from ..links import AsyncPull, AsyncPush, SyncPull, SyncPush
from .config import ServerArgs
from .ended import OnEnd, tell_nobody

if TYPE_CHECKING:
    from ..engine.base import Engine
    from ..scheduler.scheduler import Scheduler
    from ..tokenizer.load import Tokenizer
    from ..tokenizer.server import TokenizeWorker
    from .frontend import FrontendManager

T = TypeVar("T")

# Each process imports only what it runs: the API server knows no scheduler, and no worker knows FastAPI.


def build_frontend(
    args: ServerArgs,
    send_tokenizers: Sequence[AsyncPush],
    recv_tokenizer: AsyncPull,
    classes: Sequence[type] = (),
    on_end: OnEnd = tell_nobody,
) -> FrontendManager:
    """The front end's state. Here and below, ``classes`` take the place of those that they derive from."""
    from .frontend import FrontendManager

    cls = with_gaps(_chosen(FrontendManager, classes), args.gaps)
    return cls(
        send_tokenizers,
        recv_tokenizer,
        args.backlog_limit,
        args.backlog_bytes,
        args.limits.max_prompt_chars,
        on_end,
    )


def build_tokenize_worker(
    args: ServerArgs,
    tokenizer: Tokenizer,
    recv_listener: SyncPull,
    send_backend: SyncPush,
    send_frontend: SyncPush,
    classes: Sequence[type] = (),
) -> TokenizeWorker:
    """A worker for either job: it tokenizes and detokenizes, by the type of the message."""
    from ..tokenizer.detokenize import DetokenizeManager
    from ..tokenizer.server import TokenizeWorker
    from ..tokenizer.tokenize import TokenizeManager

    return with_gaps(_chosen(TokenizeWorker, classes), args.gaps)(
        recv_listener,
        send_backend,
        send_frontend,
        with_gaps(_chosen(TokenizeManager, classes), args.gaps)(tokenizer),
        with_gaps(_chosen(DetokenizeManager, classes), args.gaps)(tokenizer),
    )


def build_scheduler(
    args: ServerArgs,
    engine: Engine,
    eos_token_ids: frozenset[int],
    recv_tokenizer: SyncPull,
    send_detokenizer: SyncPush,
    classes: Sequence[type] = (),
) -> Scheduler:
    from ..scheduler.scheduler import Scheduler

    cls = with_gaps(_chosen(Scheduler, classes), args.gaps)
    return cls(engine, args.scheduler, eos_token_ids, recv_tokenizer, send_detokenizer)


def _chosen(base: type[T], classes: Sequence[type]) -> type[T]:
    return next((cls for cls in classes if issubclass(cls, base)), base)
