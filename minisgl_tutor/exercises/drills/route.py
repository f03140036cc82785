"""A reader's handler as the route of an app, over a real front end whose backend is scripted."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from ...links import MemoryAsyncPull, MemoryAsyncPush, MemoryChannel
from ...message import Message, UserReply, unwrap
from ...server.frontend import FrontendManager
from ...server.openai.error_handlers import add_error_handlers
from ...trace.asgi import AsgiClient, Exchange
from ..drill import THREAD, Found, general_fault
from ..sandbox import NO_THREAD
from ..wire import Raised

ID, CREATED, MODEL = "exercise", 0, "minisgl-tutor"


class Route:
    """An app with one route, ``path``, that ``handler`` answers. ``state``: what else ``app.state`` has.

    What the front end sends is packed into bytes and unpacked again, as on its way to another process.
    """

    def __init__(self, path: str, handler: Callable[..., Any], **state: object) -> None:
        self._sent = MemoryChannel(">tokenizer")
        self._inbox = MemoryChannel(">api")
        self._path = path
        self.frontend = FrontendManager([MemoryAsyncPush(self._sent)], MemoryAsyncPull(self._inbox))
        app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
        app.add_api_route(path, handler, methods=["POST"], response_model=None)
        add_error_handlers(app)
        values = {"frontend": self.frontend, "served_model": MODEL, "stamp": _stamp, **state}
        for name, value in values.items():
            setattr(app.state, name, value)
        self._client = AsgiClient(app)

    def post(self, body: bytes) -> Exchange:
        """Sends a request now."""
        return self._client.request(
            "POST", self._path, headers={"content-type": "application/json"}, body=body
        )

    async def sent(self) -> AsyncIterator[Message]:
        """What the front end sends, as it comes."""
        pull = MemoryAsyncPull(self._sent)
        while True:
            for msg in unwrap(await pull.get()):
                yield msg

    def reply(self, replies: Iterable[UserReply]) -> None:
        """Replies arrive at the front end now."""
        for each in replies:
            self._inbox.send(each)


def failure(exchange: Exchange, file: Path | None) -> Raised | None:
    """What the handler raised and did not handle, and the line of the reader's file that it went through."""
    for event in exchange.events:
        if event.kind == "app failed":
            lines = re.findall(rf'File "{re.escape(str(file))}", line (\d+)', exchange.app_traceback)
            return Raised.told(str(event.note), int(lines[-1]) if lines else 0)
    return None


def failed(raised: Raised) -> Found:
    """The sandbox refuses a thread before virtual time can."""
    fault = THREAD if raised.says.sentence() == NO_THREAD else general_fault(raised)
    return Found(fault, raised.values())


def now_us() -> int:
    return round(asyncio.get_running_loop().time() * 1e6)


def _stamp(uid: int) -> tuple[str, int]:
    return f"{ID}{uid}", CREATED
