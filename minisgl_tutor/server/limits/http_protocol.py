"""The HTTP protocol under the app: uvicorn's, without what a client can do to it that is not its right.

A client may send further requests before its first answer is complete. uvicorn tells the last of
them alone that the client left; here all of them hear of it. Java's clients offer to go on in
another protocol; uvicorn's parser drops the body of such a request, here the offer is passed over,
as HTTP has it. Headers without an end are not kept for ever, and what is no HTTP gets the envelope
that all errors have.
"""

from __future__ import annotations

import asyncio
import re
from http import HTTPStatus
from typing import Any

from starlette.responses import Response
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from ..openai.refusal import refusal

MOST_AHEAD = 16
"""While no more requests than these wait behind one, what else comes is read: that the client left, too."""

MOST_HEAD_BYTES = 64 << 10
"""What a request may have besides its body, give or take what is read at once."""

UPGRADE = re.compile(rb"\nupgrade[ \t]*:", re.IGNORECASE)

try:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
except ImportError:  # without httptools uvicorn has h11, which bounds headers and reads one request at a time
    HTTP_PROTOCOL: type[asyncio.Protocol] = AutoHTTPProtocol
else:

    class Connection(HttpToolsProtocol):
        """A client's connection. All of its requests end with it."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self._requests: list[Any] = []
            self._head_bytes = 0
            self._past_head = False

        def data_received(self, data: bytes) -> None:
            if self.cycle is None or not self.cycle.more_body:
                head, blank, rest = data.partition(b"\r\n\r\n")
                data = UPGRADE.sub(b"\nx-upgrade:", head) + blank + rest
            self._past_head = False
            super().data_received(data)
            self._head_bytes = 0 if self._past_head else self._head_bytes + len(data)
            if self._head_bytes > MOST_HEAD_BYTES and not self.transport.is_closing():
                message = f"the headers are larger than {MOST_HEAD_BYTES:,} bytes"
                self._refuse(refusal(431, message, "headers_too_large"))

        def send_400_response(self, msg: str) -> None:
            self._refuse(refusal(400, "what came is no HTTP request", "invalid_http"))

        def _refuse(self, answer: Response) -> None:
            """Ends the connection, with an answer unless that would get into one that has begun."""
            if not any(each.response_started and not each.response_complete for each in self._requests):
                lines = [
                    b"HTTP/1.1 %d %b" % (answer.status_code, HTTPStatus(answer.status_code).phrase.encode())
                ]
                lines += [name + b": " + value for name, value in answer.raw_headers]
                self.transport.write(b"\r\n".join([*lines, b"connection: close", b"", bytes(answer.body)]))
            self.transport.close()

        def on_headers_complete(self) -> None:
            super().on_headers_complete()
            self._requests = [each for each in self._requests if not each.response_complete]
            self._requests.append(self.cycle)
            if len(self.pipeline) <= MOST_AHEAD:
                self.flow.resume_reading()

        def on_body(self, body: bytes) -> None:
            self._past_head = True
            super().on_body(body)

        def on_message_complete(self) -> None:
            self._past_head = True
            super().on_message_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            for request in self._requests:
                request.disconnected = not request.response_complete
                request.message_event.set()

    HTTP_PROTOCOL = Connection
