#!/usr/bin/env python3
"""Runs the commands of the README and the chapters, and puts what they print below them.

    scripts/fill_outputs.py [--check] [PAGE...]

``transcripts.py`` explains how a page says which lines are shown. If no page is given, the README and
all pages of the chapters and of their exercises are taken, in some minutes. With ``--check`` nothing is
written: the script says where a page shows something else than is printed, and ends with 1 then.
``tests/chapters/test_outputs.py`` does the same for nearly all of them.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path

from pages import language_of, of_chapters, of_exercises, readmes
from running_server import Servers
from terminal import NAME, Terminal
from transcripts import Command, TranscriptError, difference, filled, typed_in

QUICK = {"diff", "doctor", "exercises", "gaps", "hint", "read", "reset", "start", "trace"}


def differences(page: Path, servers: Servers, folder: Path, lacking: Collection[str] = ()) -> Iterator[str]:
    """Where the blocks of a page show something else than is printed, and what cannot be run.

    A command line between backticks shows nothing: it is run once, if that is quick and needs nothing else,
    and has to end well. Commands of programs that are ``lacking`` here are left out.
    """
    terminal = Terminal(language_of(page), folder, servers)
    for each in dict.fromkeys(typed_in(page.read_text("utf-8"))):
        if isinstance(each, Command):
            if each.program not in lacking and (told := difference(each, _printed(terminal, each))):
                yield told
        elif each.split()[1] in QUICK:
            typed = terminal.type(each)
            if typed.status != 0:
                yield f"{each}\nends with status {typed.status}:\n{typed.output}"


def programs(page: Path) -> set[str]:
    """The programs, other than this one, that the blocks of a page run."""
    found = {each.program for each in typed_in(page.read_text("utf-8")) if isinstance(each, Command)}
    return {name for name in found if Path(name).name != NAME}


def fill(page: Path, servers: Servers, folder: Path) -> bool:
    """Whether that changed the page.

    Raises:
        TranscriptError: a block cannot be filled, or the page was written to meanwhile.
    """
    terminal = Terminal(language_of(page), folder, servers)
    text = page.read_text("utf-8")
    new = filled(text, lambda command: _printed(terminal, command))
    if page.read_text("utf-8") != text:
        raise TranscriptError("somebody wrote to it meanwhile; run this again")
    if new == text:
        return False
    page.write_text(new, "utf-8")
    return True


def _printed(terminal: Terminal, command: Command) -> str:
    return terminal.type(command.line, command.interrupted).output


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("pages", nargs="*", type=Path, metavar="PAGE")
    parser.add_argument("--check", action="store_true", help="write nothing, and say what differs")
    arguments = parser.parse_args()
    logging.getLogger("minisgl_tutor").addHandler(logging.NullHandler())
    wrong = False
    with Servers() as servers:
        for page in arguments.pages or [*of_chapters(), *of_exercises(), *readmes()]:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    if not arguments.check:
                        if fill(page, servers, Path(folder)):
                            print(f"filled {page}")
                        continue
                    told = list(differences(page, servers, Path(folder)))
                except TranscriptError as error:
                    told = [str(error)]
            if told:
                print(f"{page}:", *told, sep="\n", file=sys.stderr)
                wrong = True
    sys.exit(int(wrong))


if __name__ == "__main__":
    main()
