"""The front end's state: who is waiting for what (claims parts D to I).

    listen ──> ack_map[uid]  the replies that its consumer has not taken
          └──> event_map[uid]  wakes that consumer

One listener files every reply under its uid; each request has one consumer,
``wait_for_ack``. A request's life has one owner, ``own``: whoever delivers the
answer, and however it leaves, the request ends there, once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import cache
from typing import Any, TypeVar

from starlette.requests import Request

from ..links import AsyncPull, AsyncPush
from ..message import (
    AbortMsg,
    ErrorReply,
    MalformedMessage,
    Reply,
    SamplingParams,
    TextLogprobs,
    TokenizeMsg,
    Usage,
    UserReply,
    unwrap,
)
from .backlog import FAR_BEHIND, SLOW_READER, UnreadBytes, merged
from .ended import OnEnd, tell_nobody
from .openai.answer import Completed, ResponseForm
from .openai.chunks import ChunksTogether
from .openai.failure import RequestFailed, error_body
from .openai.prompt import check_length
from .openai.request_model import Ask, CompletionBody
from .openai.sse import DONE, event, unless_disconnected

logger = logging.getLogger(__name__)

T = TypeVar("T")
_unwrap_msg = unwrap


@cache
def _entry(unread: int | None, is_set: bool | None, unanswered: bool) -> dict[str, int]:
    amounts = {"ack_map": unread, "event_map": is_set, "unanswered": unanswered or None}
    return {name: int(amount) for name, amount in amounts.items() if amount is not None}


class FrontendManager:
    """Numbers requests, keeps their unread replies and wakes their consumers (C5.49).

    ``send_tokenizers`` has one link for each tokenizer worker. A request and its
    abort go to the same one, so that neither can overtake the other.
    ``backlog_limit`` is the number of replies, and ``backlog_bytes`` that of the
    bytes in them, that may wait for one client that does not read; beyond either
    the request ends with an error. ``max_prompt_chars`` is the length of the text
    that a request may have. ``on_end`` is told of what the server itself ends.

    Hook points, which a gap may override: ``own`` and ``end_user`` (what ends a
    request), ``unless_disconnected`` (what notices a client that leaves while it
    waits for a whole answer), ``expects`` (what decides that a request is
    finished), ``overflow`` (what happens to a slow reader), ``asks`` (what a body
    asks for), ``form_for`` (how an answer looks).
    """

    def __init__(
        self,
        send_tokenizers: Sequence[AsyncPush],
        recv_tokenizer: AsyncPull,
        backlog_limit: int = 4096,
        backlog_bytes: int = 1 << 20,
        max_prompt_chars: int = 2_000_000,
        on_end: OnEnd = tell_nobody,
    ) -> None:
        self.send_tokenizers = send_tokenizers
        self.recv_tokenizer = recv_tokenizer
        self.backlog_limit = backlog_limit
        self.backlog_bytes = backlog_bytes
        self.max_prompt_chars = max_prompt_chars
        self.on_end = on_end
        self.uid_counter = 0
        self.ack_map: dict[int, list[Reply]] = {}
        self.event_map: dict[int, asyncio.Event] = {}
        self.unanswered: set[int] = set()  # no finished reply has come yet
        self.more_follows = False
        """Of the reply that ``wait_for_ack`` yielded this moment: the next one is there already."""
        self._unread_bytes = UnreadBytes()
        self.failure: ErrorReply | None = None
        self._failed = asyncio.Event()
        self._listener: asyncio.Task[None] | None = None

    # -- a request comes in

    def asks(self, body: CompletionBody) -> list[Ask]:
        """The answers that a body asks for.

        Raises:
            RequestFailed: it asks for something that is not done here, or for nothing.
        """
        return body.asks()

    def form_for(self, uid: int, form: ResponseForm) -> ResponseForm:
        """How the answer to ``uid`` looks."""
        return form

    def new_user(self) -> int:
        """A fresh uid with an empty list and an event of its own (C5.57). Unique within this process only."""
        uid = self.uid_counter
        self.uid_counter += 1
        self.ack_map[uid] = []
        self.event_map[uid] = asyncio.Event()
        self.unanswered.add(uid)
        return uid

    async def submit(self, text: str | list[dict[str, str]], sampling_params: SamplingParams) -> int:
        """Sends a request to its tokenizer and returns its uid (C5.37).

        Raises:
            RequestFailed: the server is failing, the text is too long, or the request cannot be
                sent. No state is left.
        """
        if self.failure is not None:
            raise RequestFailed(self.failure)
        check_length(text, self.max_prompt_chars)
        uid = self.new_user()
        try:
            await self.send_one(TokenizeMsg(uid=uid, text=text, sampling_params=sampling_params))
        except MalformedMessage as error:
            self.forget(uid)
            reply = ErrorReply(uid=uid, message=str(error), status=400, code="invalid_value")
            raise RequestFailed(reply) from error
        except BaseException:
            self.forget(uid)
            raise
        return uid

    async def send_one(self, msg: TokenizeMsg | AbortMsg) -> None:
        self._create_listener_once()
        await self.send_tokenizers[msg.uid % len(self.send_tokenizers)].put(msg)

    # -- replies come back

    def _create_listener_once(self) -> None:
        if self._listener is None:
            self._listener = asyncio.create_task(self.listen(), name="listen")

    async def listen(self) -> None:
        """The only receiver of replies: files each under its uid, then wakes its request (C5.60, C5.61)."""
        while True:
            for reply in _unwrap_msg(await self.recv_tokenizer.get()):
                if not isinstance(reply, UserReply | ErrorReply):
                    logger.error("ignored a %s on its way to the front end", type(reply).__name__)
                elif self.expects(reply.uid):
                    self.file_reply(reply)

    def expects(self, uid: int) -> bool:
        """Whether a reply still belongs to somebody; a late one is skipped (C5.153)."""
        return uid in self.unanswered

    def file_reply(self, reply: Reply) -> None:
        unread, event = self.ack_map[reply.uid], self.event_map[reply.uid]
        unread.append(reply)
        if reply.finished:
            self.unanswered.discard(reply.uid)
        event.set()
        if len(unread) > 1 and (
            self._unread_bytes.grown(event, unread) > self.backlog_bytes or len(unread) > self.backlog_limit
        ):
            self.overflow(reply.uid)

    def overflow(self, uid: int) -> None:
        """Ends a request whose client does not read: its unread replies give way to an error (C5.172)."""
        count = len(self.ack_map[uid])
        message = f"the client left {count} pieces of its answer unread; the request was ended"
        self.cut_short(uid, ErrorReply(uid=uid, message=message, status=503, code=SLOW_READER))

    def cut_short(self, uid: int, reply: ErrorReply) -> None:
        """The server ends a request: ``reply`` takes the place of what is unread, and one abort is sent."""
        self.on_end(reply, {uid: len(self.ack_map[uid])})
        self.ack_map[uid] = [reply]
        self.event_map[uid].set()
        if uid in self.unanswered:
            self.unanswered.discard(uid)
            self.send_tokenizers[uid % len(self.send_tokenizers)].put_nowait(AbortMsg(uid=uid))

    async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
        """The replies of one request, up to its finished one (C5.62, C5.64).

        Of a client that is far behind, what has come meanwhile is one reply.
        Between ``clear`` and the fresh list nothing is awaited, so no reply can
        come in between: it is in the taken list, or it sets the event again.
        """
        event = self.event_map[uid]
        while True:
            await event.wait()
            event.clear()
            pending = self.ack_map[uid]
            self.ack_map[uid] = []
            replies = pending if len(pending) < FAR_BEHIND else merged(pending)
            for ack in replies:
                self.more_follows = ack is not replies[-1] and not ack.finished
                yield ack
                if ack.finished:
                    return

    # -- an answer goes out

    async def collect(self, uid: int, request: Request) -> Completed:
        """The whole answer (C5.110).

        Raises:
            RequestFailed: it ended with an error.
            ClientDisconnected: nobody waits for it any more; the request has been aborted.
        """
        async with self.own(uid):
            return await self.unless_disconnected(request, self._join(uid))

    async def _join(self, uid: int) -> Completed:
        pieces, logprobs = [], list[TextLogprobs]()
        async with aclosing(self.wait_for_ack(uid)) as replies:
            async for reply in replies:
                if isinstance(reply, ErrorReply):
                    raise RequestFailed(reply)
                pieces.append(reply.incremental_output)
                logprobs += reply.logprobs
                if reply.finished:
                    usage = reply.usage or Usage()
                    return Completed("".join(pieces), reply.finish_reason, usage, tuple(logprobs))
        raise RuntimeError(f"the replies of request {uid} ended without a finished one")

    async def unless_disconnected(self, request: Request, work: Coroutine[Any, Any, T]) -> T:
        return await unless_disconnected(request.receive, work)

    async def stream_chat_completions(self, uid: int, form: ResponseForm) -> AsyncGenerator[bytes, None]:
        """The answer as events: one for each reply, then the reason, then the end mark (C5.95, C5.96).

        Those of replies that were there together are one piece, as a write costs more than an event.
        An error in mid-stream is an event of its own and never looks like a finish.

        Raises:
            RequestFailed: the request ended with an error before anything was sent.
        """
        first = True
        written = ChunksTogether(form)
        ending: list[dict[str, Any]] = []
        async with aclosing(self.wait_for_ack(uid)) as replies:
            async for ack in replies:
                if isinstance(ack, ErrorReply):
                    if first:
                        raise RequestFailed(ack)
                    yield written.take() + event(error_body(ack))
                    return
                written.add(ack.incremental_output, first, ack.logprobs)
                first = False
                if self.more_follows and not ack.finished:
                    continue
                yield written.take()
                if ack.finished:
                    ending = form.ending(ack)
                    break
        for body in ending:
            yield event(body)
        yield DONE
        logger.debug("finished streaming to user %s", uid)

    async def stream_with_cancellation(
        self, generator: AsyncGenerator[bytes, None], request: Request, uid: int
    ) -> AsyncGenerator[bytes, None]:
        """Passes the events on and owns the request meanwhile: a cancelled stream is an aborted request."""
        async with self.own(uid), aclosing(generator):
            async for chunk in generator:
                yield chunk

    # -- a request ends

    @asynccontextmanager
    async def own(self, uid: int) -> AsyncIterator[None]:
        """Holds the request for the time of the block and ends it after, whatever happened in between."""
        try:
            yield
        finally:
            await self.end_user(uid)

    async def end_user(self, uid: int) -> None:
        """A request without its finished reply is aborted; either way nothing of it is kept."""
        if uid in self.unanswered:
            await self.abort_user(uid)
        self.forget(uid)

    async def abort_user(self, uid: int) -> None:
        """Tells the backend to stop, then drops the state. One abort is sent, however often it is called."""
        if uid not in self.unanswered:
            return
        self.unanswered.discard(uid)
        logger.info("client of user %s left; aborting its request", uid)
        try:
            await self.send_one(AbortMsg(uid=uid))
        finally:
            self.forget(uid)

    def forget(self, uid: int) -> None:
        self.ack_map.pop(uid, None)
        self.event_map.pop(uid, None)
        self.unanswered.discard(uid)

    def fail_all(self, message: str) -> None:
        """Ends every open request with an error, and refuses new ones: a part of the server is gone."""
        self.failure = ErrorReply(uid=-1, message=message, status=503, code="server_failing")
        self._failed.set()
        open_uids = sorted(self.unanswered)
        self.on_end(self.failure, {uid: len(self.ack_map[uid]) for uid in open_uids})
        for uid in open_uids:
            self.file_reply(ErrorReply(uid=uid, message=message, status=503, code="server_failing"))

    async def failing(self) -> ErrorReply:
        """Waits until the server fails or stops; what its clients are told."""
        await self._failed.wait()
        assert self.failure is not None
        return self.failure

    def held(self) -> dict[int, dict[str, int]]:
        """What is kept for each uid: how many unread replies, and whether its event is set.

        Entries that are alike are the same object, and not to be changed.
        """
        wakers, unanswered = self.event_map, self.unanswered
        held = {
            uid: _entry(len(replies), wakers[uid].is_set() if uid in wakers else None, uid in unanswered)
            for uid, replies in self.ack_map.items()
        }
        if not (wakers.keys() <= held.keys() and unanswered <= held.keys()):
            for uid in sorted((wakers.keys() | unanswered) - held.keys()):
                held[uid] = _entry(None, wakers[uid].is_set() if uid in wakers else None, uid in unanswered)
        return held

    async def close(self) -> None:
        """Ends the listener and the links."""
        if self._listener is not None:
            self._listener.cancel()
            await asyncio.gather(self._listener, return_exceptions=True)
        for link in self.send_tokenizers:
            link.close()
        self.recv_tokenizer.close()
