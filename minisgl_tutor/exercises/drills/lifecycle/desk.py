"""The desk: the app and its front end alone. Replies are scripted; links and encoders fail when told to."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ....language.wire import Said
from ....links import MemoryAsyncPull, MemoryChannel
from ....message import AbortMsg, BatchFrontendMsg, ErrorReply, Message, TokenizeMsg, UserReply
from ....server.api_server import create_app
from ....server.frontend import FrontendManager
from ....trace.asgi import AsgiClient, ClientEvent, Exchange, Reader
from ....trace.tracer import FRONT
from .observation import DeskClient, DeskJob
from .witness import Witness

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

QUIET_STEPS = 12
"""How long the desk goes on after the last reply, for clients that read slowly."""

BACKLOG = 4096
LINK_IS_DOWN = "the link to the tokenizer is down"
UNENCODABLE = "Encoding objects of type object is unsupported"
"""What msgspec says."""


class Desk:
    """At each step every open request gets its next replies, all in one batch, as from a scheduler."""

    def __init__(self, job: DeskJob, cls: type[FrontendManager], witness: Witness) -> None:
        self.kept: list[list[str]] = [[] for _ in job.clients]
        self.elsewhere: list[list[Said]] = [[] for _ in job.clients]
        witness.injected |= {LINK_IS_DOWN, UNENCODABLE}
        self._job = job
        self._cls = cls
        self._witness = witness
        self._asking: ContextVar[int] = ContextVar("asking")
        self._to_come: dict[int, list[list[UserReply | ErrorReply]]] = {}
        self._arrivals: list[list[int]] = [[] for _ in job.clients]
        self._aborts: list[tuple[int, int]] = []
        self._created: list[list[object]] = [[] for _ in job.clients]

    async def main(self) -> None:
        self._loop = self._witness.begin()
        self._inbox = MemoryChannel(f">{FRONT}")
        self._frontend = self._cls([_Link(self)], MemoryAsyncPull(self._inbox), BACKLOG)
        self._app = create_app(self._frontend, "desk", self._stamp)
        for index, client in enumerate(self._job.clients):
            self._plan(index, client)
        step_us = self._job.step_us
        last = max(client.t // step_us + len(client.replies) for client in self._job.clients)
        for step in range(1, last + QUIET_STEPS):
            await asyncio.sleep((step * step_us - self._loop.now_us()) / 1e6)
            self._reply()
        self.kept = self._witness.kept(len(self.kept))
        self._witness.finish()

    # -- clients

    def _plan(self, index: int, client: DeskClient) -> None:
        def ask() -> None:
            token = self._asking.set(index)
            try:
                exchanges.append(self._ask(index, client))
            finally:
                self._asking.reset(token)

        def leave() -> None:
            exchanges[0].leave()

        exchanges: list[Exchange] = []
        plans = [(client.t, ask), (client.leaves_at_us, leave)]
        plans.insert(1 if client.abort_first else 2, (client.aborts_at_us, lambda: self._abort(index)))
        for at_us, plan in plans:
            if at_us is not None:
                self._loop.call_at(at_us / 1e6, plan)

    def _ask(self, index: int, client: DeskClient) -> Exchange:
        def spoil(exchange: Exchange, event: ClientEvent) -> None:
            if event.kind == "chunk" and len(exchange.chunks) == client.bad_chunk:
                self._created[index].append(object())

        if client.bad_chunk == 0:
            self._created[index].append(object())
        app = _with_one_more_message(self._app) if client.message_first else self._app
        asgi = AsgiClient(app, spec_version=self._job.spec, high_water=client.buffer, observer=spoil)
        exchange = asgi.request(
            "POST",
            "/v1/chat/completions",
            headers={"content-type": "application/json"},
            body=client.body.encode(),
            reader=Reader(us_per_chunk=client.chunk_us, leaves_before_chunk=client.leaves_before_chunk),
        )
        self._witness.follow(index, exchange)
        return exchange

    def _abort(self, index: int) -> None:
        uid = self._witness.uids[index]
        self._witness.own(self._loop.create_task(self._frontend.abort_user(uid), name=f"abort_user({uid})"))

    def _stamp(self, uid: int) -> tuple[str, int]:
        """An answer that cannot be encoded has a list for its time: what is put in it later spoils it."""
        index = self._client_of(uid)
        spoilt = self._job.clients[index].bad_chunk is not None
        return f"desk{index}", self._created[index] if spoilt else 0  # type: ignore[return-value]

    def _client_of(self, uid: int) -> int:
        return next((index for index, each in self._witness.uids.items() if each == uid), -1)

    # -- the backend

    def sent(self, msg: Message) -> None:
        """A message of the front end's."""
        if isinstance(msg, TokenizeMsg):
            index = self._asking.get()
            self._witness.uids[index] = msg.uid
            if self._job.clients[index].cancelled:
                raise asyncio.CancelledError
            if self._job.clients[index].unsent:
                raise ConnectionError(LINK_IS_DOWN)
            self._to_come[index] = list(self._job.clients[index].replies)
        elif isinstance(msg, AbortMsg):
            index = self._client_of(msg.uid)
            self._aborts.append((index, self._loop.now_us()))
            if index >= 0 and self._job.clients[index].abort_unsent:
                raise ConnectionError(LINK_IS_DOWN)
            if index in self._to_come:
                del self._to_come[index][self._job.clients[index].late :]

    def _reply(self) -> None:
        batch: list[UserReply | ErrorReply] = []
        for index, steps in sorted(self._to_come.items()):
            for reply in steps.pop(0) if steps else ():
                self._arrivals[index].append(self._loop.now_us())
                batch.append(replace(reply, uid=self._witness.uids[index]))
        if batch:
            self._inbox.send(BatchFrontendMsg(data=batch))

    def arrivals(self, index: int) -> list[int]:
        return self._arrivals[index]

    def aborts(self) -> list[tuple[int, int]]:
        return self._aborts


def _with_one_more_message(app: ASGIApp) -> ASGIApp:
    """``app``, to which ``receive()`` gives an empty ``http.request`` behind its body of one message."""

    async def called(scope: Scope, receive: Receive, send: Send) -> None:
        received = 0

        async def one_more() -> Any:
            nonlocal received
            received += 1
            return {"type": "http.request", "body": b""} if received == 2 else await receive()

        await app(scope, one_more, send)

    return called


class _Link:
    """The front end's end of the link to its one tokenizer."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def put(self, msg: Message) -> None:
        self._desk.sent(msg)

    def put_nowait(self, msg: Message) -> None:
        self._desk.sent(msg)

    def close(self) -> None:
        pass
