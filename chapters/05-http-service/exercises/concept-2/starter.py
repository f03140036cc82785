"""Concepts, exercise 2: what a request is in bytes.

`parse` takes the bytes of one request as a socket gave them, in one read or in several, and
returns a dictionary with `method`, `path`, `headers` (name to value), `messages` and `stream`.
`build` is its inverse, and returns bytes. What to do is in exercise-5c.2.md beside
this file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any


def parse(reads: Iterable[bytes]) -> dict[str, Any]:
    text = next(iter(reads)).decode()
    head, body = text.split("\n\n")
    first, *lines = head.split("\n")
    method, path, _ = first.split(" ")
    headers = dict(line.split(": ") for line in lines)
    body = body[: int(headers["Content-Length"])]
    fields = json.loads(body)
    return {
        "method": method,
        "path": path,
        "headers": headers,
        "messages": fields["messages"],
        "stream": fields["stream"],
    }


def build(method: str, path: str, host: str, messages: list[dict[str, str]], stream: bool) -> bytes:
    body = json.dumps({"messages": messages, "stream": stream}, ensure_ascii=False)
    head = f"{method} {path} HTTP/1.1\nHost: {host}\nContent-Length: {len(body)}\n\n"
    return (head + body).encode()
