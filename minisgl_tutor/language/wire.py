"""A sentence on its way to another process, which is to say it."""

from __future__ import annotations

from typing import Any

import msgspec

from .sentence import Sentence


class Said(msgspec.Struct, frozen=True):
    """A sentence as plain data."""

    text: str = ""
    values: dict[str, str | int | float | Said] = {}
    more: str = ""

    @classmethod
    def of(cls, sentence: Sentence) -> Said:
        """Values that are neither numbers nor sentences are taken as text."""
        values = {name: _crossing(value) for name, value in sentence.values.items()}
        return cls(sentence.text, values, sentence.more)

    def sentence(self) -> Sentence:
        values: dict[str, Any] = {
            name: value.sentence() if isinstance(value, Said) else value
            for name, value in self.values.items()
        }
        return Sentence(self.text, more=self.more, **values)


def packed(sentence: Sentence, most: int) -> bytes:
    """``sentence`` in at most ``most`` bytes, its texts of one line; what is longer is cut, and English."""
    data = msgspec.json.encode(Said.of(_of_one_line(sentence)))
    if len(data) <= most:
        return data
    return msgspec.json.encode(Said(str(sentence).encode("ascii", "replace").decode()[: most // 3]))


def unpacked(data: bytes) -> Sentence:
    """
    Raises:
        msgspec.DecodeError: these are not the bytes of a sentence.
    """
    return msgspec.json.decode(data, type=Said).sentence()


def _crossing(value: object) -> str | int | float | Said:
    if isinstance(value, Sentence):
        return Said.of(value)
    return value if isinstance(value, int | float) else str(value)


def _of_one_line(sentence: Sentence) -> Sentence:
    values = {
        name: _of_one_line(value)
        if isinstance(value, Sentence)
        else value
        if isinstance(value, int | float)
        else " ".join(str(value).split())
        for name, value in sentence.values.items()
    }
    return Sentence(sentence.text, more=sentence.more, **values)
