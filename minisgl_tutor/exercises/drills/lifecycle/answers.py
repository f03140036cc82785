"""What an answer says, however it is cut: replies that a reader is behind with may come in one chunk."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from itertools import accumulate
from typing import Any

from .observation import Seen


def says(body: bytes) -> object:
    """The answer, for comparing: a stream's events with neighbouring texts joined; else the body itself."""
    if not body.startswith(b"data: "):
        return body
    try:
        return list(_joined(body))
    except (ValueError, KeyError, TypeError, IndexError):
        return body


def text_of(body: bytes) -> str:
    """The text of a stream's events, as far as it has come."""
    pieces = []
    for event in body.decode(errors="replace").split("\n\n")[:-1]:
        with suppress(ValueError, KeyError, TypeError, IndexError):
            pieces.append(json.loads(event.removeprefix("data: "))["choices"][0]["delta"]["content"])
    return "".join(pieces)


def _joined(body: bytes) -> Iterator[object]:
    text = ""
    for event in body.decode().split("\n\n"):
        data = event.removeprefix("data: ")
        parsed: Any = None if data in ("", "[DONE]") else json.loads(data)
        if parsed is not None and parsed.get("choices"):
            choice = parsed["choices"][0]
            if choice["finish_reason"] is None and set(choice["delta"]) <= {"content"}:
                text += choice["delta"].get("content") or ""
                continue
        if text:
            yield text
            text = ""
        yield data if parsed is None else parsed


def latest_us(seen: Seen, reference: Seen) -> int:
    """By how much the worst piece of an equal body came later than in ``reference``; and its end."""
    came = list(zip(accumulate(seen.sizes), seen.chunks_us, strict=True))
    late = [seen.end_us - reference.end_us]
    for size, due_us in zip(accumulate(reference.sizes), reference.chunks_us, strict=True):
        late.append(next(at_us for length, at_us in came if length >= size) - due_us)
    return max(late)
