"""Its connections stay open for further requests; the model is loaded when the first one asks."""

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


class Service:
    def __init__(self, load_model: Callable[[], Any]) -> None:
        self._load_model = load_model
        self._model: Any = None

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                method, path, body = await read_request(reader)
                writer.write(self.answer(method, path, body).replace(b"Connection: close\r\n", b""))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has left
        finally:
            writer.close()

    def answer(self, method: str, path: str, body: bytes) -> bytes:
        match method, path:
            case "POST", "/generate":
                if self._model is None:
                    self._model = self._load_model()
                return response("200 OK", {"text": self._model.generate(json.loads(body)["prompt"])})
            case _, "/generate":
                return response("405 Method Not Allowed", {"error": "only POST"})
        return response("404 Not Found", {"error": "only /generate"})


async def main(net: Any, load_model: Callable[[], Any]) -> None:
    await net.start_server(Service(load_model).connected, "127.0.0.1", 1919)
    await asyncio.Event().wait()
