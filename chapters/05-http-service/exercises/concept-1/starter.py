"""Concepts, exercise 1: from a function to a service.

`main(net, load_model)` is a program that has a model and clients elsewhere. `net` stands for `asyncio`,
whose `start_server` it has. This one answers whatever comes first, with a model of its own, and is gone.
What to do is in exercise-5c.1.md beside this file; `python exercise-5c.1.py` runs it for real.
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
    done = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, _, body = await read_request(reader)
        model = load_model()
        text = model.generate(json.loads(body)["prompt"])
        writer.write(response("200 OK", {"text": text}))
        await writer.drain()
        writer.close()
        done.set()

    async with await net.start_server(answer, "127.0.0.1", 1919):
        await done.wait()


class Backwards:
    """A model for trying it by hand."""

    def generate(self, prompt: str) -> str:
        return prompt[::-1]


if __name__ == "__main__":
    asyncio.run(main(asyncio, Backwards))
