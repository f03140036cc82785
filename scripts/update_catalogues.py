#!/usr/bin/env python3
"""Brings the catalogues of sentences up to date with the code.

    scripts/update_catalogues.py           adds new sentences, drops those that are gone, compiles
    scripts/update_catalogues.py cli trace does so for these rooms alone
    scripts/update_catalogues.py --check   changes nothing; says what is missing or not compiled, exit 1

A room of the package has its catalogue, ``minisgl_tutor/language/catalogues/zh/ROOM.po``. What is new in it
has an empty translation: write it, and run this again. Sentences are found where ``Sentence("...")`` and
``counted("...", "...")`` are written. The catalogue ``help`` has what ``--help`` of the commands shows,
``gaps`` also what the file of each says of it, ``scenes`` the titles of the recordings that come along,
``claims`` what the chapters state.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from string import Formatter

import typer
from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_file
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from typer.main import get_command

from minisgl_tutor.cli.main import app
from minisgl_tutor.cli.speaking import help_texts
from minisgl_tutor.gaps import GAPS
from minisgl_tutor.recording import read_recording
from minisgl_tutor.trace.claims import read_claims
from minisgl_tutor.trace.scenes import chapters, scene_of_gap, scenes_of

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "minisgl_tutor"
CATALOGUES = PACKAGE / "language" / "catalogues" / "zh"
KEYWORDS = {"Sentence": None, "counted": (1, 2)}


class PlainCatalog(Catalog):
    """A catalogue whose header has no dates and no versions, so that it changes only with what it says."""

    @property
    def mime_headers(self) -> list[tuple[str, str]]:
        return [("Content-Type", "text/plain; charset=utf-8"), ("Plural-Forms", self.plural_forms)]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--check", action="store_true")
    options.add_argument("rooms", nargs="*", metavar="ROOM")
    given = options.parse_args()
    rooms = sentences()
    problems = [
        problem
        for room, found in sorted(rooms.items())
        if not given.rooms or room in given.rooms
        for problem in bring(room, found, given.check)
    ]
    for file in sorted(CATALOGUES.glob("*.?o")):
        if file.stem not in rooms:
            problems.append(f"{file.name}: no room of the package has sentences of that name")
    problems.extend(said_twice())
    print("\n".join(problems) or "every sentence is in the catalogues")
    return 1 if problems else 0


def sentences() -> dict[str, Catalog]:
    """By room, what is written in the code, in the order of the files."""
    found: dict[str, Catalog] = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        below = file.relative_to(PACKAGE)
        room = below.parts[0].removesuffix(".py")
        for text, line in extracted(file):
            found.setdefault(room, Catalog()).add(text, locations=[(str(below), line)])
    command = get_command(app)
    found["help"] = Catalog()
    for help_text in help_texts(command, typer.Context(command)):
        found["help"].add(help_text)
    for gap in GAPS:
        for paragraph in gap.explanation.values.values():
            found["gaps"].add(paragraph.text, locations=[(gap.code, 1)])
    found["scenes"] = Catalog()
    for path in scene_paths():
        found["scenes"].add(read_recording(path).header.title, locations=[(path.name, 1)])
    found["claims"] = Catalog()
    for family in read_claims().values():
        for number, claim in family.items():
            for text in (claim.says, claim.note, claim.about):
                found["claims"].add(text, locations=[(number, 1)])
    return found


def scene_paths() -> list[Path]:
    """The recordings that a chapter plays, and those that show a gap."""
    of_chapters = [scene.path for chapter in chapters() for scene in scenes_of(chapter)]
    return list(dict.fromkeys([*of_chapters, *(scene_of_gap(gap.name) for gap in GAPS)]))


def extracted(file: Path) -> Iterator[tuple[str | tuple[str, ...], int]]:
    for line, text, _, _ in extract_from_file("python", str(file), keywords=KEYWORDS):
        yield text, line


def bring(room: str, found: Catalog, check: bool) -> list[str]:
    """Writes the room's catalogue, or compares it; what is wrong with it, a line each."""
    source, compiled = CATALOGUES / f"{room}.po", CATALOGUES / f"{room}.mo"
    old = read_po(BytesIO(source.read_bytes()), locale="zh") if source.exists() else Catalog()
    new = PlainCatalog(
        locale="zh", header_comment=f"# What minisgl_tutor/{room} says, in Chinese.", fuzzy=False
    )
    for message in found:
        if message.id:
            known = old.get(message.id)
            new.add(message.id, known.string if known else None, locations=message.locations)
    texts = {source: po_bytes(new), compiled: mo_bytes(new)}
    if not check:
        CATALOGUES.mkdir(parents=True, exist_ok=True)
        for file, content in texts.items():
            file.write_bytes(content)
    stale = [
        file.name for file, content in texts.items() if not file.exists() or file.read_bytes() != content
    ]
    return [
        *(f"{name} is not up to date: run scripts/update_catalogues.py" for name in stale),
        *(f"{source.name}: {problem}" for message in new if message.id for problem in problems_of(message)),
    ]


def said_twice() -> Iterator[str]:
    """All rooms are looked up together, so one sentence has one translation."""
    first: dict[object, tuple[str, object]] = {}
    for source in sorted(CATALOGUES.glob("*.po")):
        for message in read_po(BytesIO(source.read_bytes()), locale="zh"):
            place, string = first.setdefault(message.id, (source.name, message.string))
            if message.id and string != message.string:
                yield f"{source.name} says {message.id!r} otherwise than {place}: {string!r}"


def problems_of(message: Message) -> Iterator[str]:
    """Chinese has one form for any number, so there is one translation."""
    first, *_, last = (message.id, message.id) if isinstance(message.id, str) else message.id
    string = message.string[0] if isinstance(message.string, tuple) and message.string else message.string
    if not string:
        yield f"no translation of {first!r}"
    elif fields(string) != fields(last):
        yield f"other values than in {last!r}: {string!r}"
    elif code(string) != code(last):
        yield f"other code than in {last!r}: {string!r}"


def fields(text: str) -> set[str]:
    """The names of the values in it, with how each is written."""
    return {f"{name}!{how}:{form}" for _, name, form, how in Formatter().parse(text) if name is not None}


def code(text: str) -> tuple[set[str], int]:
    """What is in backticks, and how many backslashes there are."""
    return set(re.findall("`[^`]+`", text)), text.count("\\")


def po_bytes(catalog: Catalog) -> bytes:
    out = BytesIO()
    write_po(out, catalog, width=100, include_lineno=False)
    return out.getvalue()


def mo_bytes(catalog: Catalog) -> bytes:
    out = BytesIO()
    write_mo(out, catalog)
    return out.getvalue()


if __name__ == "__main__":
    sys.exit(main())
