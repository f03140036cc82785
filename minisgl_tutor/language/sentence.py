"""A sentence for a reader, before it is known in which language it will be said."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class Sentence:
    """``text`` in English, with the names of its values in braces as ``str.format`` has them.

    A value may be a ``Sentence`` too; then it is said in the same language. ``more`` is the
    text for several, where the value ``count`` decides (see ``counted``).

    ``str(sentence)`` is the English one. One without a text is false, and says nothing.
    """

    __slots__ = ("more", "text", "values")

    def __init__(self, text: str, /, more: str = "", **values: Any) -> None:
        self.text = text
        self.values = values
        self.more = more

    def __bool__(self) -> bool:
        return bool(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sentence) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash((self.text, self.more))

    def __repr__(self) -> str:
        return f"Sentence({self.text!r}, {self.values!r})"

    def _parts(self) -> tuple[str, str, dict[str, Any]]:
        return self.text, self.more, self.values

    def __str__(self) -> str:
        return self.filled(self.more if self.more and self.values["count"] != 1 else self.text, self.values)

    def with_values(self, **values: Any) -> Sentence:
        """The same sentence about something else."""
        return Sentence(self.text, more=self.more, **values)

    @staticmethod
    def filled(text: str, values: dict[str, Any]) -> str:
        """``text`` with its values. Without values it is taken as it is, braces and all."""
        return text.format(**values) if values else text


def counted(one: str, more: str, /, *, count: int, **values: Any) -> Sentence:
    """A sentence that counts something: ``one`` says it of one, ``more`` of several."""
    return Sentence(one, more=more, count=count, **values)


def joined(between: str, parts: Iterable[Sentence]) -> Sentence:
    """Several sentences as one, with ``between`` between them in every language."""
    values: dict[str, Any] = {f"part{number}": part for number, part in enumerate(parts)}
    return Sentence(between.join(f"{{{name}}}" for name in values), **values)


NOTHING = joined("", ())
"""Says nothing."""


def verbatim(text: str) -> Sentence:
    """What is the same in every language: a name, say, where a sentence is asked for."""
    whole = "{text}"  # no literal of a sentence's, so no catalogue has it
    return Sentence(whole, text=text)


def sentence_of(error: BaseException) -> Sentence:
    """What an error has to say: the sentence that it was made with, else its text as it is."""
    first = error.args[0] if error.args else None
    return first if isinstance(first, Sentence) else Sentence(str(error))
