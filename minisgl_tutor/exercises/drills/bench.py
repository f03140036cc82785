"""What a reader's test of a front end has in its hands: one front end, its clients, and its backend.

Time is virtual: waiting costs nothing, and waiting for what never comes ends the test.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from types import ModuleType
from typing import Any

from starlette.requests import Request

from ...language import Sentence
from ...links import MemoryAsyncPull, MemoryChannel
from ...message import AbortMsg, BatchFrontendMsg, ErrorReply, Message, SamplingParams, UserReply
from ...server.frontend import FrontendManager
from ...server.openai.answer import ResponseForm
from .events import events
from .front import reply
from .lifecycle.kept import Keeping

FORM = ResponseForm("bench", 0, "minisgl-tutor", True)


class Client:
    """Reads one answer, as a stream or whole. It takes what comes at once."""

    def __init__(self, bench: Bench, uid: int, stream: bool) -> None:
        self.uid = uid
        self._chunks: list[bytes] = []
        self._text = ""
        self._left = asyncio.Event()
        self._fails = False
        self._streams = stream
        self._frontend = bench.frontend
        self._serving = asyncio.create_task(
            self._stream() if stream else self._collect(), name=f"client {uid}"
        )

    @property
    def text(self) -> str:
        """What it has got so far."""
        found = []
        for each in events([(0, b"".join(self._chunks))])[0]:
            with suppress(ValueError, LookupError, TypeError):
                found.append(json.loads(each.data)["choices"][0]["delta"].get("content", ""))
        return self._text + "".join(found)

    @property
    def served(self) -> bool:
        """The call that serves it is over, however it ended."""
        return self._serving.done()

    @property
    def error(self) -> BaseException | None:
        """What that call raised, if it is over. A cancellation is none."""
        over = self._serving.done() and not self._serving.cancelled()
        return self._serving.exception() if over else None

    def leave(self) -> None:
        """It closes its connection. A stream is cancelled, as a server does; whoever collects must ask."""
        self._left.set()
        if self._streams:
            self._serving.cancel()

    def fail(self) -> None:
        """The next piece cannot be written to it: that raises an OSError."""
        self._fails = True

    async def end(self) -> None:
        """Waits until the call that serves it is over."""
        await asyncio.wait({self._serving})

    async def _stream(self) -> None:
        frontend = self._frontend
        events_ = frontend.stream_chat_completions(self.uid, FORM)
        async with aclosing(frontend.stream_with_cancellation(events_, self._request(), self.uid)) as chunks:
            async for chunk in chunks:
                if self._fails:
                    raise OSError(Sentence("the client's connection is gone"))
                self._chunks.append(chunk)

    async def _collect(self) -> None:
        self._text = (await self._frontend.collect(self.uid, self._request())).text

    def _request(self) -> Request:
        async def receive() -> dict[str, Any]:
            await self._left.wait()
            return {"type": "http.disconnect"}

        return Request({"type": "http", "method": "POST", "path": "/", "headers": []}, receive)


class Bench:
    """One front end of the class that is tested. ``frontend`` is it; ``aborts`` are the uids of the AbortMsgs
    that it has sent, in their order.
    """

    def __init__(self, cls: type[FrontendManager], module: ModuleType | None) -> None:
        self.aborts: list[int] = []
        self._unsent = False
        self._inbox = MemoryChannel(">api")
        self.frontend = cls([self], MemoryAsyncPull(self._inbox))
        self._keeping = Keeping(self.frontend, module)
        self._held: list[AsyncGenerator[Any, Any]] = []
        hooks = sys.get_asyncgen_hooks()

        def first_step(generator: AsyncGenerator[Any, Any]) -> None:
            self._held.append(generator)  # the garbage collector is to help nobody
            if hooks.firstiter is not None:
                hooks.firstiter(generator)

        sys.set_asyncgen_hooks(firstiter=first_step)

    async def ask(self, prompt: str = "What is a token?") -> int:
        """A request is submitted. Its uid."""
        return await self.frontend.submit(prompt, SamplingParams())

    def stream(self, uid: int) -> Client:
        """A client begins to read the answer to ``uid``, as a stream."""
        return Client(self, uid, stream=True)

    def whole(self, uid: int) -> Client:
        """A client waits for the whole answer to ``uid``."""
        return Client(self, uid, stream=False)

    async def reply(self, *replies: tuple[int, str, bool]) -> None:
        """Replies come in one batch, each (uid, text, finished), and what they lead to happens."""
        batch: list[UserReply | ErrorReply] = [reply(*each) for each in replies]
        self._inbox.send(BatchFrontendMsg(data=batch))
        await self.settle()

    async def settle(self) -> None:
        """All that is ready to run runs; what waits for time does not."""
        await asyncio.sleep(1e-6)

    def kept(self, uid: int) -> list[str]:
        """Where the front end keeps something of the request: the names of what holds its uid."""
        return sorted({where for where, of in self._keeping.now() if of == uid})

    def fail_next_send(self) -> None:
        """The link to the tokenizer raises ConnectionError when the next message is sent."""
        self._unsent = True

    # -- the front end's link

    async def put(self, msg: Message) -> None:
        self.put_nowait(msg)

    def put_nowait(self, msg: Message) -> None:
        if self._unsent:
            self._unsent = False
            raise ConnectionError(Sentence("the link to the tokenizer is down"))
        if isinstance(msg, AbortMsg):
            self.aborts.append(msg.uid)

    def close(self) -> None:
        """Nothing is open."""
