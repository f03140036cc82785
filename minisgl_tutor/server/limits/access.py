"""Who may ask, and what is written down of it: the API key, request ids, one log line a request.

These layers stand around the app as plain ASGI: a client that leaves is seen
through them, and nothing is done for each chunk but counting its bytes.
"""

from __future__ import annotations

import hmac
import logging
import re
import uuid
from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..openai.refusal import refusal

OPEN_PATHS = frozenset({"/health"})
"""What is answered without the key, so that a health check need not know it."""

POLLED_PATHS = frozenset({"/health", "/metrics", "/debug/held"})
"""What monitoring asks again and again: a success there is not worth a line."""

REQUEST_ID = "x-request-id"
USABLE_ID = re.compile(r"[A-Za-z0-9._:/+=@-]{1,128}")

logger = logging.getLogger(__name__)


class ApiKey:
    """Lets those through who send ``Authorization: Bearer KEY``; anyone else gets a 401."""

    def __init__(self, app: ASGIApp, key: str) -> None:
        self._app = app
        self._expected = f"Bearer {key}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in OPEN_PATHS or self._knows(scope):
            await self._app(scope, receive, send)
            return
        message = "this server needs its API key: send it in the header 'Authorization: Bearer KEY'"
        answer = refusal(401, message, "invalid_api_key", {"WWW-Authenticate": "Bearer"})
        await answer(scope, receive, send)

    def _knows(self, scope: Scope) -> bool:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        # In a time that does not depend on how much of it is right.
        return len(given) == 1 and hmac.compare_digest(given[0], self._expected)


class RequestLog:
    """Gives each request an id, or keeps that of its client, and writes a line once it is over.

    Successful requests to ``POLLED_PATHS`` are logged at debug level only. ``clock`` counts seconds.
    """

    def __init__(self, app: ASGIApp, clock: Callable[[], float]) -> None:
        self._app = app
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(_id_of(scope), send)
        begin = self._clock()
        try:
            await self._app(scope, receive, answer.send)
        except OSError:
            if not answer.client_gone:
                raise
        finally:
            path = scope["raw_path"].decode("latin-1")
            polled = path in POLLED_PATHS and answer.outcome == "200"
            logger.log(
                logging.DEBUG if polled else logging.INFO,
                "%s %s %s in %.3f s, %d bytes, from %s, request %s",
                scope["method"],
                path,
                answer.outcome,
                self._clock() - begin,
                answer.bytes,
                (scope.get("client") or ("?",))[0],
                answer.id,
            )


class _Answer:
    """What has been sent of an answer."""

    def __init__(self, request_id: str, send: Send) -> None:
        self.id = request_id
        self.bytes = 0
        self.client_gone = False
        self._status = 0
        self._complete = False
        self._send = send

    @property
    def outcome(self) -> str:
        if self._complete:
            return str(self._status)
        return f"{self._status} cut short" if self._status else "without an answer"

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            MutableHeaders(scope=message)[REQUEST_ID] = self.id
        try:
            await self._send(message)
        except OSError:
            self.client_gone = True
            raise
        except RuntimeError as error:
            if "closed" not in str(error):
                raise
            self.client_gone = True  # uvloop says so where others raise an OSError
            raise ConnectionError("the client has closed its connection") from error
        if message["type"] == "http.response.body":
            self.bytes += len(message.get("body", b""))
            self._complete = not message.get("more_body", False)


def _id_of(scope: Scope) -> str:
    given = Headers(scope=scope).get(REQUEST_ID, "")
    return given if USABLE_ID.fullmatch(given) else f"req_{uuid.uuid4().hex}"
