"""What Typer says of a line that it cannot take, in the reader's language.

Typer speaks English alone, in texts that are filled in already: what it says is recognised by its form.
"""

from __future__ import annotations

import re
from functools import cache
from string import Formatter
from typing import Any

import typer

from ..language import Sentence, Tongue

FORMS = (
    Sentence("Invalid value for {option}: {problem}"),
    Sentence("No such option: {option} (Possible options: {options})"),
    Sentence("No such option: {option}"),
    Sentence("No such command {name}. Did you mean {names}?"),
    Sentence("No such command {name}."),
    Sentence("Missing command."),
    Sentence("Missing argument {name}."),
    Sentence("Missing option {name}."),
    Sentence("Got unexpected extra argument(s) ({words})"),
    Sentence("Option {option} requires an argument."),
    Sentence("Option {option} does not take a value."),
    Sentence("Input should be a valid integer, unable to parse string as an integer"),
    Sentence("Input should be a valid integer, unable to parse string as an integer, exceeded maximum size"),
    Sentence("Input should be a valid number, unable to parse string as a number"),
    Sentence("Input should be a finite number"),
    Sentence("Input should be less than or equal to {most}"),
    Sentence("Input should be greater than or equal to {least}"),
    Sentence("Value error, {value} is not one of {values}."),
)

NESTED = {"problem"}
"""The values that are sentences of Typer's themselves."""


def complaint(error: typer.TyperException, say: Tongue) -> str:
    """What is wrong with the line, below how the command is called and where its help is.

    Empty if Typer has shown the help instead.
    """
    message = error.format_message()
    if not message:
        return ""
    lines = [say(Sentence("Error: {what}", what=understood(message)))]
    context: Any = getattr(error, "ctx", None)
    if context is not None:
        helped = f"{context.command_path} {context.help_option_names[-1]}"
        lines[:0] = [context.get_usage(), say(Sentence("Try '{command}' for help.", command=helped))]
    return "\n".join(lines)


def understood(message: str) -> Sentence:
    """The sentence that a text of Typer's is; as it stands if it is none that is known."""
    for form in FORMS:
        if found := _pattern(form.text).fullmatch(message):
            values = {
                name: understood(value) if name in NESTED else value
                for name, value in found.groupdict().items()
            }
            return form.with_values(**values)
    return Sentence("{text}", text=message)


@cache
def _pattern(text: str) -> re.Pattern[str]:
    parts = (
        re.escape(before) + ("" if name is None else f"(?P<{name}>.+?)")
        for before, name, _, _ in Formatter().parse(text)
    )
    return re.compile("".join(parts), re.DOTALL)
