"""How long a prompt may be, before anybody turns it into tokens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .failure import RequestFailed, refused


def check_length(text: object, max_chars: int) -> None:
    """Refuses a prompt, or a conversation, of more than ``max_chars`` characters.

    A prompt that is token ids already has none.

    Raises:
        RequestFailed: it is longer.
    """
    chars = sum(len(part) for part in _strings(text))
    if chars > max_chars:
        raise too_long(chars, max_chars)


def too_long(chars: int, max_chars: int) -> RequestFailed:
    message = f"the prompt has {chars:,} characters; this server takes {max_chars:,}: shorten it"
    return refused(message, None, "prompt_too_long")


def _strings(value: Any) -> Iterator[str]:
    """Every text in a value as JSON has them, but for the names of fields."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and not (value and isinstance(value[0], int)):
        for part in value:
            yield from _strings(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from _strings(part)
