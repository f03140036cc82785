"""A parser that others keep well does both."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import h11


def parse(reads: Iterable[bytes]) -> dict[str, Any]:
    connection = h11.Connection(h11.SERVER)
    for data in reads:
        connection.receive_data(data)
    request = connection.next_event()
    assert isinstance(request, h11.Request)
    body = b""
    while isinstance(event := connection.next_event(), h11.Data):
        body += event.data
    fields = json.loads(body)
    return {
        "method": request.method.decode(),
        "path": request.target.decode(),
        "headers": {name.decode(): value.decode() for name, value in request.headers},
        "messages": fields["messages"],
        "stream": fields["stream"],
    }


def build(method: str, path: str, host: str, messages: list[dict[str, str]], stream: bool) -> bytes:
    body = json.dumps({"messages": messages, "stream": stream}).encode()
    headers = [("Host", host), ("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
    connection = h11.Connection(h11.CLIENT)
    events = (
        h11.Request(method=method, target=path, headers=headers),
        h11.Data(data=body),
        h11.EndOfMessage(),
    )
    return b"".join(connection.send(event) or b"" for event in events)
