"""The connection of a client that hangs up too soon is not closed.

Fails: hangs-up: not-closed
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

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            method, path, body = await read_request(reader)
            if path != "/generate":
                reply = response("404 Not Found", {"error": f"there is no {path}"})
            elif method != "POST":
                reply = response("405 Method Not Allowed", {"error": "only POST"})
            else:
                reply = response("200 OK", {"text": model.generate(json.loads(body)["prompt"])})
            writer.write(reply)
            await writer.drain()
            writer.close()
        except (asyncio.IncompleteReadError, ConnectionError, ValueError):
            pass

    async with await net.start_server(answer, "127.0.0.1", 1919):
        await asyncio.Event().wait()
