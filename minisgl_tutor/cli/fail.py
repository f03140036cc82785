"""How a command ends when what it was asked for cannot be done."""

from __future__ import annotations

from typing import NoReturn

from ..language import Sentence


class Failure(Exception):
    """The program ends with this sentence on standard error and the exit status."""

    def __init__(self, sentence: Sentence, status: int) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.status = status


def fail(sentence: Sentence, status: int = 2) -> NoReturn:
    """
    Raises:
        Failure: always.
    """
    raise Failure(sentence, status)
