"""What ``serve`` checks of its options before anything starts, and what it says at its end."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Literal

import typer

from ..gaps.registry import UnknownGap, resolve
from .program import program

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
        BadParameter: there is none of a name.
    """
    try:
        return resolve(names)
    except UnknownGap as error:
        raise typer.BadParameter(str(error), param_hint="--gap") from None


def writable(file: Path | None, option: str) -> str | None:
    """The file's name.

    Raises:
        BadParameter: it cannot be written.
    """
    if file is None:
        return None
    try:
        with file.open("ab"):
            pass
    except OSError as error:
        raise typer.BadParameter(f"{file} cannot be written: {error.strerror}", param_hint=option) from None
    return str(file)


def recorded_to(file: Path | None, messages: bool, max_bytes: int, rotate: int, redact: bool) -> str | None:
    """The recording's name.

    Raises:
        BadParameter: it cannot be written, or an option about it contradicts another.
    """
    given = {"--record-messages": messages, "--record-max-bytes": max_bytes, "--record-rotate": rotate}
    for option, value in {**given, "--redact": redact}.items():
        if value and file is None:
            raise typer.BadParameter("it is about a recording: add --record FILE", param_hint=option)
    if rotate and not max_bytes:
        raise typer.BadParameter(
            "say when a file is full: add --record-max-bytes BYTES", param_hint="--record-rotate"
        )
    if redact and messages:
        raise typer.BadParameter(
            "messages are texts: leave out --record-messages or --redact", param_hint="--redact"
        )
    return writable(file, "--record")


def say_end(status: int, shell: bool, record: str | None, profile: str | None) -> None:
    """On standard error, as the log is; the shell that started this shows its prompt below."""
    if status != 1 and not shell:
        typer.echo("\nstopped", err=True)  # below the ^C of a terminal
    if record is not None and Path(record).is_file() and Path(record).stat().st_size:
        typer.echo(f"{record}: play it with `{program()} trace {shlex.quote(record)}`", err=True)
    if profile is not None:
        from .profile_table import tell_profile

        tell_profile(Path(profile))
