"""概念练习 2：一个请求的字节是什么样。

`parse` 得到一个请求的字节，就像从套接字读到的那样，可能一次读完，也可能分好几次。
它返回一个字典，里面有 `method`、`path`、`headers`（名称到值）、`messages` 和 `stream`。
`build` 反过来，返回字节。
题目要求见旁边的 exercise-5c.2.zh.md。
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
