"""The HTTP protocol under the app: uvicorn's, without what a client can do to it that is not its right.

A client may send further requests before its first answer is complete. uvicorn tells the last of
them alone that the client left; here all of them hear of it. Java's clients offer to go on in
another protocol; uvicorn's parser drops the body of such a request, here the offer is passed over,
as HTTP has it. And headers without an end are not kept for ever.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

MOST_AHEAD = 16
"""While no more requests than these wait behind one, what else comes is read: that the client left, too."""

MOST_HEAD_BYTES = 64 << 10
"""What a request may have besides its body, give or take what is read at once."""

UPGRADE = re.compile(rb"\nupgrade[ \t]*:", re.IGNORECASE)
TOO_MUCH = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-type: application/json\r\n"
)
TOO_MUCH_BODY = (
    b'{"error":{"message":"the headers are larger than 65,536 bytes","type":"invalid_request_error",'
    b'"param":null,"code":"headers_too_large"}}'
)

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
                length = b"content-length: %d\r\n\r\n" % len(TOO_MUCH_BODY)
                self.transport.write(TOO_MUCH + length + TOO_MUCH_BODY)
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
