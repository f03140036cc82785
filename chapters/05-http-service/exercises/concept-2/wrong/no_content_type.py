"""What is built says nowhere that its body is JSON.

Fails: sample: header
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any


def parse(reads: Iterable[bytes]) -> dict[str, Any]:
    head, _, body = (b"".join(reads)).partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    method, path, _ = first.split(" ")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    fields = json.loads(body[: int(headers["content-length"])].decode())
    return {
        "method": method,
        "path": path,
        "headers": headers,
        "messages": fields["messages"],
        "stream": fields["stream"],
    }


def build(method: str, path: str, host: str, messages: list[dict[str, str]], stream: bool) -> bytes:
    body = json.dumps({"messages": messages, "stream": stream}, ensure_ascii=False).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body
