"""Connections only read and write: the model belongs to one task, which takes prompts from a queue."""

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


Prompts = asyncio.Queue[tuple[str, asyncio.Future[str]]]


async def work(load_model: Callable[[], Any], prompts: Prompts) -> None:
    model = load_model()
    while True:
        prompt, answer = await prompts.get()
        if not answer.cancelled():
            answer.set_result(model.generate(prompt))


async def main(net: Any, load_model: Callable[[], Any]) -> None:
    prompts: Prompts = asyncio.Queue()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            method, path, body = await read_request(reader)
            if path != "/generate":
                writer.write(response("404 Not Found", {}))
                return
            if method != "POST":
                writer.write(response("405 Method Not Allowed", {}))
                return
            answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            prompts.put_nowait((json.loads(body)["prompt"], answer))
            writer.write(response("200 OK", {"text": await answer}))
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(work(load_model, prompts))
        server = await net.start_server(connected, "127.0.0.1", 1919)
        tasks.create_task(server.serve_forever())
