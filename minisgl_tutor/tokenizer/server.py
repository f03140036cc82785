"""The tokenizer worker, which is the detokenizer too (C2.22, C2.47, C5.173).

What it does with a message depends on the message's type alone:

    TokenizeMsg    text or conversation -> UserMsg to the scheduler
    AbortMsg       -> AbortBackendMsg to the scheduler
    DetokenizeMsg  new token -> UserReply to the API server
                   (a StopStringsMsg ahead of it: a stop string -> AbortBackendMsg to the scheduler)
    ErrorReply     of the scheduler -> passed on to the API server
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from ..links import LinkObserver, SyncPull, SyncPush
from ..links.zmq_queue import ZmqPullQueue, ZmqPushQueue
from ..message import (
    AbortBackendMsg,
    AbortMsg,
    BatchBackendMsg,
    BatchFrontendMsg,
    DetokenizeMsg,
    ErrorReply,
    StopStringsMsg,
    TokenizeMsg,
    UserMsg,
    UserReply,
)
from .detokenize import DetokenizeManager
from .load import Tokenizer, load_tokenizer
from .tokenize import TokenizeManager

logger = logging.getLogger(__name__)


class TokenizeWorker:
    """One round: all messages that have come, sorted by kind, answered with one message each way."""

    def __init__(
        self,
        recv_listener: SyncPull,
        send_backend: SyncPush,
        send_frontend: SyncPush,
        tokenize_manager: TokenizeManager,
        detokenize_manager: DetokenizeManager,
    ) -> None:
        self.recv_listener = recv_listener
        self.send_backend = send_backend
        self.send_frontend = send_frontend
        self.tokenize_manager = tokenize_manager
        self.detokenize_manager = detokenize_manager

    def run_forever(self) -> None:
        while True:
            self.round(blocking=True)

    def round(self, blocking: bool) -> None:
        """Receives and unwraps (C2.32), sorts by kind, works, sends one batch each way (C2.50)."""
        pending_msg = self.recv_listener.drain(blocking)
        # Requests and aborts stay in one list: an abort must not overtake its own request.
        request_msg: list[TokenizeMsg | AbortMsg] = []
        reply_msg: list[StopStringsMsg | DetokenizeMsg | ErrorReply] = []
        for msg in pending_msg:
            match msg:
                case TokenizeMsg() | AbortMsg():
                    request_msg.append(msg)
                case StopStringsMsg() | DetokenizeMsg() | ErrorReply():
                    reply_msg.append(msg)
                case _:
                    logger.error("ignored a %s, which is not for a tokenizer", type(msg).__name__)

        backend_output, frontend_output = self._tokenize(request_msg)
        replies = self.detokenize_manager.detokenize(reply_msg)
        last = [reply.uid for reply in replies if reply.finished]
        ended = {uid for uid in last if self.detokenize_manager.awaits_finish(uid)}
        backend_output += [AbortBackendMsg(uid=uid) for uid in sorted(ended)]
        self._send(backend_output, [*frontend_output, *replies])

    def held(self) -> dict[int, dict[str, int]]:
        """Tokenizing keeps nothing between rounds; decoding does."""
        return self.detokenize_manager.held()

    def _tokenize(
        self, msgs: list[TokenizeMsg | AbortMsg]
    ) -> tuple[list[UserMsg | AbortBackendMsg], list[UserReply | ErrorReply]]:
        """What goes to the scheduler, in the order of ``msgs``, and the errors that go straight back."""
        tokenize_msg = [msg for msg in msgs if isinstance(msg, TokenizeMsg)]
        results = iter(self.tokenize_manager.tokenize(tokenize_msg))
        batch_output: list[UserMsg | AbortBackendMsg] = []
        errors: list[UserReply | ErrorReply] = []
        for msg in msgs:
            if isinstance(msg, AbortMsg):
                batch_output.append(AbortBackendMsg(uid=msg.uid))
                continue
            result = next(results)
            if isinstance(result, ErrorReply):
                errors.append(result)
            else:
                batch_output.append(
                    UserMsg(uid=msg.uid, input_ids=result, sampling_params=msg.sampling_params)
                )
        return batch_output, errors

    def _send(
        self,
        backend: list[UserMsg | AbortBackendMsg],
        frontend: list[UserReply | ErrorReply],
    ) -> None:
        if backend:
            self.send_backend.put(backend[0] if len(backend) == 1 else BatchBackendMsg(data=backend))
        if frontend:
            self.send_frontend.put(frontend[0] if len(frontend) == 1 else BatchFrontendMsg(data=frontend))


BuildWorker = Callable[[Tokenizer, SyncPull, SyncPush, SyncPush], TokenizeWorker]


def tokenize_worker(
    recv_address: str,
    backend_address: str,
    frontend_address: str,
    model_path: str,
    build: BuildWorker,
    observe: Callable[[], LinkObserver],
    ready: Callable[..., None],
) -> None:
    """A tokenizer or detokenizer process (C2.15): receives at ``recv_address`` until it is killed.

    ``build`` makes the worker, of the classes that the whole server is made of;
    ``observe`` makes who watches its incoming link.
    ``ready`` is called once messages can be taken, with what shows how the worker is.

    Raises:
        TokenizerNotFound: ``model_path`` has no tokenizer that can be read.
    """
    pull = ZmqPullQueue(recv_address, "tokenizer", observe())
    worker = build(
        load_tokenizer(model_path),
        pull,
        ZmqPushQueue(backend_address, "scheduler"),
        ZmqPushQueue(frontend_address, "frontend"),
    )
    ready(held=worker.held, busy_since=lambda: pull.busy_since)
    worker.run_forever()
