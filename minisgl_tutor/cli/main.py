"""The commands of ``minisgl-tutor``. Each imports what it needs when it runs, so that help comes at once."""

from __future__ import annotations

import errno
import io
import os
import sys
import traceback
from typing import Annotated

import typer

from .. import __version__
from ..language import Choice, Language, Sentence, Tongue, chosen, reason_of, sentence_of
from ..resources import IncompleteInstallation
from .bench import bench
from .caller import OPTION, Caller, inherited, without_language
from .chat import chat
from .check import check
from .dev import dev
from .doctor import doctor
from .exercises import exercises
from .fail import Failure
from .gaps import gaps
from .help_with import diff, hint, reset, solution
from .language import language
from .read import read
from .serve import serve
from .setting import SettingError, set_language
from .speaking import Command, Group
from .start import start
from .told import tell
from .top import top
from .trace import trace
from .usage import complaint
from .watch import watch

OWN_OPTIONS = {
    "--lang",
    "--help",
    "-h",
    "--version",
    "--verbose",
    "--install-completion",
    "--show-completion",
}

app = typer.Typer(
    name="minisgl-tutor",
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode="markdown",  # else the lines of a paragraph break where they do in the source, too
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(cls=Command)(read)
app.command(cls=Command)(gaps)
for command in (serve, chat, top, trace, exercises, start, check, watch, hint, diff, solution, reset):
    app.command(cls=Command)(command)
app.command(cls=Command)(doctor)
app.command(cls=Command)(language)
app.add_typer(bench, name="bench")
app.add_typer(dev, name="dev")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"minisgl-tutor {__version__}")
        raise typer.Exit


@app.callback()
def tutor(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Tell all of an unexpected error; anywhere on the line.")
    ] = False,
    lang: Annotated[
        Language | None,
        typer.Option(
            help="English or Chinese, anywhere on the line; `language` says what else decides.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """A small LLM server that can be taken apart.

    serve runs it. trace replays a run of it hop by hop. check runs it with a
    part of yours in the place of its own.
    """


def main(arguments: list[str] | None = None) -> None:
    """The entry point. Exits with the command's status; after an unexpected error with a sentence and 1."""
    given = sys.argv[1:] if arguments is None else arguments
    verbose = "--verbose" in given
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever started this program
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # no locale makes a character an error
    by = _chosen()
    say = Tongue(by.language)
    try:
        rest, asked = without_language([argument for argument in given if argument != "--verbose"])
        if asked is not None:
            by, say = Choice(asked, OPTION), Tongue(asked)
        with inherited(say.language):
            status = app(_named(rest), obj=Caller(say, verbose, by.by), standalone_mode=False)
        sys.exit(status or 0)
    except Failure as failure:
        _tell(say(Sentence("Error: {what}", what=failure.sentence)))
        sys.exit(failure.status)
    except typer.TyperException as error:
        _tell(complaint(error, say))
        sys.exit(error.exit_code)
    except typer.Abort:
        sys.exit(1)
    except Exception as error:
        if verbose:
            traceback.print_exc()
        _tell(say(Sentence("Error: {what}", what=_unexpected(error, verbose))))
        sys.exit(1)


def _chosen() -> Choice:
    """The language but for ``--lang``. A setting that cannot be read is told of, and does no harm."""
    try:
        return chosen(os.environ, set_language())
    except SettingError as error:
        choice = chosen(os.environ)
        _tell(Tongue(choice.language)(sentence_of(error)))
        return choice


def _tell(text: str) -> None:
    if text:
        tell(text, err=True)


def _named(arguments: list[str]) -> list[str]:
    """Options without a command are those of serve: ``python -m minisgl_tutor --model X`` serves (C2.1)."""
    first = arguments[0].partition("=")[0] if arguments else ""
    serves = first.startswith("-") and first not in OWN_OPTIONS
    return ["serve", *arguments] if serves else arguments


def _unexpected(error: Exception, verbose: bool) -> Sentence:
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Sentence(
            "nothing more can be written ({reason}); make room and run it again", reason=reason_of(error)
        )
    if isinstance(error, IncompleteInstallation):
        return sentence_of(error)
    if isinstance(error, FileNotFoundError) and not _has_folder():
        return Sentence("the current folder is not there any more; change to another and run it again")
    what = " ".join(f"{type(error).__name__}: {error}".split())
    if verbose:
        return Sentence("this should not happen ({what}); please report it with the lines above", what=what)
    return Sentence("this should not happen ({what}); run it again with --verbose for all of it", what=what)


def _has_folder() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True
