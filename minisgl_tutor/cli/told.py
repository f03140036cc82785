"""What a command tells, in lines that end before the edge of a terminal. A file or a pipe has it as it is."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator, Mapping

import typer

from ..language import Sentence, Tongue
from .program import program

LABEL = re.compile(r" *\S+ {2,}(?=\S)|[^:：`]{1,16}(?:: |：)| *")
"""What further lines are set in by: a label in a column of such, a short beginning up to a colon, spaces."""

QUOTED = re.compile(r"`[^`]*`")
WORD = re.compile(r" *(?:--[\w-]+ (?!-))?(?:'[^']*'|\"[^\"]*\"|[^\s'\"])+")
"""One of a command line, with the spaces before it; an option and its value are one."""

SET_IN = 2
UNBROKEN, IN_ITS_PLACE = "\ue000", "\ue001"
"""Stand for a space at which no line may end, and for a part of a word that is longer than a line."""


def tell(text: str, err: bool = False) -> None:
    """On standard output, or on that for errors."""
    stream = sys.stderr if err else sys.stdout
    typer.echo(fitted(text, shutil.get_terminal_size().columns) if stream.isatty() else text, err=err)


def tell_next(commands: Mapping[str, Sentence], say: Tongue) -> None:
    """What the reader may do next: what to type behind this program's name, and what that does."""
    from rich.cells import cell_len

    name, widest, width = program(), max(map(len, commands)), shutil.get_terminal_size().columns
    typer.secho(say(Sentence("Next:")), bold=True)
    for arguments, purpose in commands.items():
        line = f"  {name} {arguments:{widest}}   {say(purpose)}"
        if cell_len(line) <= width:
            typer.echo(line)
        else:
            tell(f"  {name} {arguments}\n      {say(purpose)}")


def fitted(text: str, width: int) -> str:
    """``text`` in lines of at most ``width`` cells, the further ones of each line set in.

    Commands can be copied as they stand: a line of one goes on behind a backslash, and no line ends
    between backticks.
    """
    return "\n".join(line for part in text.split("\n") for line in _lines(part, width))


def _lines(line: str, width: int) -> Iterator[str]:
    from rich.cells import cell_len

    if cell_len(line) <= width:
        yield line
        return
    found = LABEL.match(line)
    before = found[0] if found else ""
    rest = line[len(before) :]
    indent = " " * (cell_len(before) or SET_IN)
    broken = _command if _is_command(rest) else _prose
    for piece in broken(rest, width - len(indent)):
        yield before + piece
        before = indent


def _is_command(text: str) -> bool:
    return text.lstrip().startswith(f"{program()} ") or " -m pip install " in text


def _command(text: str, width: int) -> Iterator[str]:
    """Words that are too long stay whole: a terminal breaks them, and copies them in one piece."""
    line = ""
    for word in WORD.findall(text):
        if line and len(line + word) > width - len(" \\"):
            yield f"{line} \\"
            line = word.lstrip()
        else:
            line += word
    yield line


def _prose(text: str, width: int) -> Iterator[str]:
    """A word that is too long, such as a path, has a line to itself and stays whole, too."""
    from rich.text import Text

    from ..views.breaks import lines_of

    too_long = re.compile(rf"[!-~]{{{width + 1},}}")
    words = iter(too_long.findall(text))
    text = QUOTED.sub(
        lambda found: found[0] if len(found[0]) > width else found[0].replace(" ", UNBROKEN), text
    )
    for line in lines_of(Text(too_long.sub(IN_ITS_PLACE * width, text)), width):
        shown = line.plain.replace(UNBROKEN, " ")
        yield next(words) if shown.startswith(IN_ITS_PLACE) else shown
