"""Who has called the program, and in which language that person is spoken to."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..language import LANGUAGES, VARIABLE, Language, Sentence, Tongue
from .fail import fail

if TYPE_CHECKING:
    import typer

OPTION = "--lang"


@dataclass(frozen=True)
class Caller:
    """What every command is told besides its own options."""

    say: Tongue
    verbose: bool = False
    chosen_by: str = ""
    """What has chosen the language: as in ``Choice``, or ``--lang``."""


def caller(context: typer.Context) -> Caller:
    """The caller of the command that runs in ``context``."""
    found = context.find_root().obj
    assert isinstance(found, Caller)
    return found


@contextmanager
def inherited(language: Language) -> Iterator[None]:
    """In the block, what this program starts speaks the language too."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = language
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


def without_language(arguments: Sequence[str]) -> tuple[list[str], Language | None]:
    """The arguments without ``--lang``, which may stand anywhere before a ``--``, and what it says.

    Raises:
        Failure: it names no language.
    """
    kept: list[str] = []
    language: Language | None = None
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if argument == "--":
            return [*kept, argument, *rest], language
        if name != OPTION:
            kept.append(argument)
            continue
        language = _language(value if equals else next(rest, ""))
    return kept, language


def _language(value: str) -> Language:
    for language in LANGUAGES:
        if value == language:
            return language
    fail(Sentence("--lang takes en or zh, not {value!r}", value=value))
