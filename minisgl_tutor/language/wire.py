"""A sentence as plain bytes, for another process to say it."""

from __future__ import annotations

import json
from typing import Any

from .sentence import Sentence


def packed(sentence: Sentence, most: int) -> bytes:
    """At most ``most`` bytes; what is longer is cut, and English.

    Values that are no numbers and no sentences become texts of one line.
    """
    data = json.dumps(_plain(sentence)).encode()
    if len(data) <= most:
        return data
    cut = str(sentence).encode("ascii", "replace").decode()[: most // 3]
    return json.dumps(_plain(Sentence(cut))).encode()


def unpacked(data: bytes) -> Sentence:
    """
    Raises:
        ValueError: these are not the bytes of a sentence.
    """
    return _sentence(json.loads(data))


def _plain(sentence: Sentence) -> dict[str, Any]:
    values = {name: _plain_value(value) for name, value in sentence.values.items()}
    return {"text": sentence.text, "more": sentence.more, "values": values}


def _plain_value(value: Any) -> Any:
    if isinstance(value, Sentence):
        return _plain(value)
    return value if isinstance(value, int | float) else " ".join(str(value).split())


def _sentence(plain: dict[str, Any]) -> Sentence:
    values = {
        name: _sentence(value) if isinstance(value, dict) else value
        for name, value in plain["values"].items()
    }
    return Sentence(plain["text"], more=plain["more"], **values)
