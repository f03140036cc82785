"""What ``serve`` checks of its options before anything starts, and what it says at its end."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import typer

from ..gaps.registry import UnknownGap, resolve
from ..language import Sentence, Tongue, reason_of, sentence_of
from ..server.config import Limits, LogLevel, SchedulerConfig, ServerArgs
from .fail import fail
from .program import program
from .told import tell

Values = TypeVar("Values", ServerArgs, Limits, SchedulerConfig)


def server_args(given: Mapping[str, Any], verbose: bool) -> ServerArgs:
    """What the options of ``serve`` come to, by their names: a value of the same name, but for these.

    Raises:
        Failure: they cannot be.
    """
    torch_profile = given["torch_profile"]
    made = {
        "limits": _with(Limits, given),
        "scheduler": _with(SchedulerConfig, given),
        "api_key": given["api_key"] or None,
        "allow_origins": tuple(given["allow_origin"] or ()),
        "gaps": known_gaps(given["gap"] or []),
        "record": recorded_to(given),
        "profile": writable(given["profile"], "--profile"),
        "torch_profile": None if torch_profile is None else str(torch_profile),
        "log_level": log_level(given["log_level"], verbose, given["shell"]),
    }
    return _with(ServerArgs, {**given, **made})


def _with(kind: type[Values], given: Mapping[str, Any]) -> Values:
    return kind(**{each.name: given[each.name] for each in fields(kind) if each.name in given})


def log_level(given: LogLevel | None, verbose: bool, shell: bool) -> LogLevel:
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


def recorded_to(given: Mapping[str, Any]) -> str | None:
    """The recording's name.

    Raises:
        Failure: it cannot be written, or an option about it contradicts another.
    """
    for name in ("record_messages", "record_max_bytes", "record_rotate", "redact"):
        if given[name] and given["record"] is None:
            option = "--" + name.replace("_", "-")
            fail(Sentence("{option} is about a recording: add --record FILE", option=option))
    if given["record_rotate"] and not given["record_max_bytes"]:
        fail(Sentence("--record-rotate: say when a file is full: add --record-max-bytes BYTES"))
    if given["redact"] and given["record_messages"]:
        fail(Sentence("messages are texts: leave out --record-messages or --redact"))
    return writable(given["record"], "--record")


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
