"""It generates for itself: nobody else gets at it.

Fails: one-client: not-listening
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any


async def read_request(reader: asyncio.StreamReader) -> tuple[str, str, bytes]:
    """Method, path and body of a request."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    request_line, *lines = head.rstrip().split("\r\n")
    method, path, _ = request_line.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return method, path, await reader.readexactly(int(headers.get("content-length", 0)))


def response(status: str, fields: dict[str, str]) -> bytes:
    body = json.dumps(fields, ensure_ascii=False).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"Connection: close\r\n\r\n" + body


async def main(net: Any, load_model: Callable[[], Any]) -> None:
    model = load_model()
    print(response("200 OK", {"text": model.generate("Why?")}))
    await asyncio.Event().wait()
