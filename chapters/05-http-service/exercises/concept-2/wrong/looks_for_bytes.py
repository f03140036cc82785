"""`stream` is looked for in the bytes of the body, with a space behind the colon as the sample has it.

Fails: several-turns: stream
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any


def parse(reads: Iterable[bytes]) -> dict[str, Any]:
    data = b"".join(reads)
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ")
    headers = {n.strip().lower(): v.strip() for n, v in (line.split(":", 1) for line in lines)}
    fields = json.loads(body)
    stream = b'"stream": true' in body
    return {
        "method": method,
        "path": path,
        "headers": headers,
        "messages": fields["messages"],
        "stream": stream,
    }


def build(method: str, path: str, host: str, messages: list[dict[str, str]], stream: bool) -> bytes:
    body = json.dumps({"messages": messages, "stream": stream}, ensure_ascii=False).encode()
    head = (
        f"{method} {path} HTTP/1.1\r\n"
        f"Host: {host}\r\n"
        f"Content-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n"
        "\r\n"
    )
    return head.encode() + body
