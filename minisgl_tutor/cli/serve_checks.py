"""What ``serve`` checks of its options before anything starts, and what it says at its end."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Literal

import typer

from ..gaps.registry import UnknownGap, resolve
from ..language import Sentence, Tongue, reason_of, sentence_of
from .fail import fail
from .program import program
from .told import tell

LogName = Literal["debug", "info", "warning", "error"]


def log_level(given: LogName | None, verbose: bool, shell: bool) -> LogName:
    """What was asked for; a chat in the same terminal is spared the rest."""
    if verbose:
        return "debug"
    if given is not None:
        return given
    return "warning" if shell else "info"


def known_gaps(names: list[str]) -> tuple[str, ...]:
    """The gaps of these names.

    Raises:
        Failure: there is none of a name.
    """
    try:
        return resolve(names)
    except UnknownGap as error:
        fail(Sentence("--gap: {what}", what=sentence_of(error)))


def writable(file: Path | None, option: str) -> str | None:
    """The file's name.

    Raises:
        Failure: it cannot be written.
    """
    if file is None:
        return None
    try:
        with file.open("ab"):
            pass
    except OSError as error:
        reason = reason_of(error)
        fail(Sentence("{option} {file} cannot be written: {reason}", option=option, file=file, reason=reason))
    return str(file)


def recorded_to(file: Path | None, messages: bool, max_bytes: int, rotate: int, redact: bool) -> str | None:
    """The recording's name.

    Raises:
        Failure: it cannot be written, or an option about it contradicts another.
    """
    given = {"--record-messages": messages, "--record-max-bytes": max_bytes, "--record-rotate": rotate}
    for option, value in {**given, "--redact": redact}.items():
        if value and file is None:
            fail(Sentence("{option} is about a recording: add --record FILE", option=option))
    if rotate and not max_bytes:
        fail(Sentence("--record-rotate: say when a file is full: add --record-max-bytes BYTES"))
    if redact and messages:
        fail(Sentence("messages are texts: leave out --record-messages or --redact"))
    return writable(file, "--record")


def say_end(status: int, shell: bool, record: str | None, profile: str | None, say: Tongue) -> None:
    """On standard error, as the log is; the shell that started this shows its prompt below."""
    if status != 1 and not shell:
        typer.echo("\n" + say(Sentence("stopped")), err=True)  # below the ^C of a terminal
    if record is not None and Path(record).is_file() and Path(record).stat().st_size:
        command = f"{program()} trace {shlex.quote(record)}"
        tell(say(Sentence("{file}: play it with `{command}`", file=record, command=command)), err=True)
    if profile is not None:
        from .profile_table import tell_profile

        tell_profile(Path(profile), say)
