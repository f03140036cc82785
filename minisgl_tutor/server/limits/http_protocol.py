"""The HTTP protocol below the app: uvicorn's, hardened against what clients do.

A client may send further requests before its first answer is complete. uvicorn tells only the last
of them that the client left; here all of them hear of it. Some clients, such as Java's, offer to
switch to another protocol; uvicorn drops the body of such a request, while here the offer is
ignored, as HTTP allows. Headers that never end are refused instead of being kept, and what is not
HTTP gets the same envelope as every other error.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

from starlette.responses import Response
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from ..openai.refusal import refusal

MOST_AHEAD = 16
"""While no more requests than these wait behind one, what else comes is read: that the client left, too."""

MOST_HEAD_BYTES = 64 << 10
"""What a request may have besides its body, give or take what is read at once."""

try:
    from httptools import HttpParserError, HttpParserUpgrade
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
            self._unset_keepalive_if_required()
            self._past_head = False
            size = len(data)
            try:
                while data:
                    data = self._parse(data)
            except HttpParserError:
                self._refuse(refusal(400, "what came is no HTTP request", "invalid_http"))
                return
            self._head_bytes = 0 if self._past_head else self._head_bytes + size
            if self._head_bytes > MOST_HEAD_BYTES and not self.transport.is_closing():
                message = f"the headers are larger than {MOST_HEAD_BYTES:,} bytes"
                self._refuse(refusal(431, message, "headers_too_large"))

        def _parse(self, data: bytes) -> bytes:
            """What remains to be parsed: after an offer to switch protocols, the request without it."""
            try:
                self.parser.feed_data(data)
            except HttpParserUpgrade as offer:
                if self.parser.get_method() == b"CONNECT":
                    self._refuse(refusal(405, "CONNECT is for proxies", "method_not_allowed"))
                    return b""
                version = self.parser.get_http_version().encode()
                head = [b"%b %b HTTP/%b" % (self.parser.get_method(), self.url, version)]
                head += [name + b": " + value for name, value in self.headers if name != b"upgrade"]
                return b"\r\n".join([*head, b"", data[offer.args[0] :]])
            return b""

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
            if self.parser.should_upgrade():
                return  # the same request comes again, without its offer
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
            if not self.parser.should_upgrade():
                super().on_message_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            for request in self._requests:
                request.disconnected = not request.response_complete
                request.message_event.set()

    HTTP_PROTOCOL = Connection
