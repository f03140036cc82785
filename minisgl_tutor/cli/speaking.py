"""Commands whose help is in the language of who asks.

Typer shows English alone. So what it is given to show is a copy of the command, in which each text is said
in the reader's language, and what it would add by itself stands in the texts already.
"""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Iterable, Iterator
from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperGroup

from ..language import ENGLISH, Sentence, Tongue
from .caller import Caller
from .program import program

USAGE = Sentence("Usage: ")
OPTIONS = Sentence("Options")
ARGUMENTS = Sentence("Arguments")
COMMANDS = Sentence("Commands")
METAVARS = {
    "[OPTIONS]": Sentence("[OPTIONS]"),
    "COMMAND [ARGS]...": Sentence("COMMAND [ARGS]..."),
}
BEGIN = Sentence(
    "New here? `{program} read 2` goes along with one request, `{program} trace --chapter 2` plays it."
)
CLAUSE_END = re.compile("[。；：]")
FOR_ALL = Sentence("With every command: --lang en or --lang zh, and --verbose.")


class Speaking:
    """What a command and a group have in common. A mixin, before Typer's class."""

    def format_usage(self, context: Any, formatter: Any) -> None:
        say = _tongue(context)
        pieces = [
            say(METAVARS[piece]) if piece in METAVARS else piece
            for piece in context.command.collect_usage_pieces(context)
        ]
        formatter.write_usage(context.command_path, " ".join(pieces), say(USAGE))

    def format_help(self, context: Any, formatter: Any) -> None:
        say = _tongue(context)
        english = say.language == "en"
        shown: Any = copy.copy(self) if english else _said_command(self, context, say)
        begin = BEGIN.with_values(program=program())
        shown.epilog = say(begin if context.parent is None else FOR_ALL)
        show: Any = super(Speaking, shown)
        if english:
            show.format_help(context, formatter)
            return
        from .unbroken import unbroken_output

        with unbroken_output():
            show.format_help(context, formatter)

    def shell_complete(self, context: Any, incomplete: str) -> list[Any]:
        """What may come next, with the beginning of its help, which a shell shows beside it in one line."""
        command: Any = self
        base: Any = super()
        found: list[Any] = base.shell_complete(context, incomplete)
        helps = {name: below.help for name, below in getattr(command, "commands", {}).items()}
        for parameter in command.get_params(context):
            helps |= dict.fromkeys((*parameter.opts, *parameter.secondary_opts), parameter.help)
        say = _tongue(context)
        for item in found if say.language != "en" else ():
            for paragraph in _paragraphs(helps.get(item.value))[:1]:
                item.help = CLAUSE_END.split(say(Sentence(paragraph)))[0]
        return found


class Command(Speaking, TyperCommand):
    """One command."""


class Group(Speaking, TyperGroup):
    """Commands below one name."""


def help_texts(command: Any, context: Any) -> Iterator[str]:
    """Every text in the help of a command and of those below it, as the ``Sentence``s have them."""
    yield from _paragraphs(command.help)
    for parameter in command.get_params(context):
        yield from _paragraphs(parameter.help)
        for text in (parameter.rich_help_panel, parameter.show_default, parameter.metavar):
            if _is_prose(text):
                yield text
    for below in getattr(command, "commands", {}).values():
        yield from help_texts(below, context)


def _tongue(context: Any) -> Tongue:
    found = context.find_root().obj
    return found.say if isinstance(found, Caller) else ENGLISH


def _said_command(command: Any, context: Any, say: Tongue) -> Any:
    """A copy to be shown, with the help option among the others and those of no panel first."""
    shown = _said_help(command, say)
    parameters = [_said_parameter(parameter, context, say) for parameter in command.get_params(context)]
    unnamed = {say(OPTIONS), say(ARGUMENTS)}
    shown.params = sorted(parameters, key=lambda parameter: parameter.rich_help_panel not in unnamed)
    shown.add_help_option = False
    if isinstance(command, Group):
        shown.commands = {name: _said_help(below, say) for name, below in command.commands.items()}
    return shown


def _said_help(command: Any, say: Tongue) -> Any:
    shown = copy.copy(command)
    shown.help = _text(command.help, say)
    shown.rich_help_panel = say(COMMANDS)
    return shown


def _said_parameter(parameter: Any, context: Any, say: Tongue) -> Any:
    shown = copy.copy(parameter)
    panel = ARGUMENTS if isinstance(parameter, TyperArgument) else OPTIONS
    shown.rich_help_panel = say(Sentence(parameter.rich_help_panel) if parameter.rich_help_panel else panel)
    if _is_prose(parameter.metavar):
        shown.metavar = say(Sentence(parameter.metavar))
    shown.help = _text(parameter.help, say, _marks(parameter, context))
    shown.required = shown.show_default = shown.show_envvar = False
    return shown


def _marks(parameter: Any, context: Any) -> Iterator[Sentence]:
    """What Typer says behind a parameter's help."""
    if parameter.envvar and parameter.show_envvar:
        yield Sentence(" [env var: {name}]", name=parameter.envvar)
    if default := _default(parameter, context):
        yield Sentence(" [default: {value}]", value=default)
    if parameter.required:
        yield Sentence(" [required]")


def _default(parameter: Any, context: Any) -> Sentence | str:
    given = parameter.show_default
    if isinstance(given, str):
        return Sentence(given) if _is_prose(given) else given
    value = parameter.get_default(context, call=False) if given else None
    if isinstance(value, bool):
        names = parameter.opts if value else parameter.secondary_opts
        return names[0].lstrip("-") if parameter.secondary_opts else ""
    return "" if value is None else str(value)


def _is_prose(text: object) -> bool:
    return isinstance(text, str) and re.search("[a-z]", text) is not None


def _paragraphs(text: str | None) -> list[str]:
    return [" ".join(part.split()) for part in inspect.cleandoc(text or "").split("\n\n") if part]


def _text(text: str | None, say: Tongue, marks: Iterable[Sentence] = ()) -> str:
    from .unbroken import breakable

    paragraphs = "\n\n".join(say(Sentence(paragraph)) for paragraph in _paragraphs(text))
    return breakable(paragraphs + "".join(map(say, marks)))
