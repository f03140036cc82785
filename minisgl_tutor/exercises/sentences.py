"""What the exercises say to a reader: a sentence for each key, in each language."""

from __future__ import annotations

from collections.abc import Mapping

from ..language import Language
from .chinese import CHINESE
from .english import ENGLISH

GENERAL: Mapping[Language, Mapping[str, str]] = {"en": ENGLISH, "zh": CHINESE}
"""The sentences of all exercises."""


class Teller:
    """Says the sentence of a key; earlier tables come before later ones."""

    def __init__(self, *tables: Mapping[str, str]) -> None:
        self._tables = tables

    def __call__(self, key: str, **values: object) -> str:
        """The sentence, filled in.

        Raises:
            KeyError: no table has it.
        """
        for table in self._tables:
            if key in table:
                return table[key].format(**values)
        raise KeyError(key)

    def knows(self, key: str) -> bool:
        return any(key in table for table in self._tables)
