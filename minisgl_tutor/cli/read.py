"""``minisgl-tutor read``: a chapter, or what an exercise asks, on the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..language import Sentence, sentence_of
from .caller import caller

if TYPE_CHECKING:
    from ..language import Tongue

WIDEST = 110
"""Lines of text that are longer than this are hard to follow; code is not."""


def read(
    context: typer.Context,
    what: Annotated[
        str,
        typer.Argument(
            metavar="[CHAPTER|EXERCISE]",
            help="The number of a chapter, or an exercise; without it, the chapters are listed.",
            show_default=False,
        ),
    ] = "",
    page: Annotated[
        str,
        typer.Argument(help="Another page of it than the first: `read 5 concepts`.", show_default=False),
    ] = "",
    pager: Annotated[
        bool,
        typer.Option(
            "--pager/--no-pager", help="On a terminal, show it through $PAGER, or `less` if there is none."
        ),
    ] = True,
) -> None:
    """Show the text of a chapter, with the answers to its questions at the end, or that of an exercise."""
    import shutil
    import sys

    from ..views.chapter import rendered
    from .pager import paged

    say = caller(context).say
    if not what:
        _list(say)
        return
    file = _chapter(int(what), page, say) if what.isdecimal() else _exercise(what, page, say)
    width = min(shutil.get_terminal_size().columns, WIDEST)
    text = rendered(file, say, width, styled=sys.stdout.isatty())
    with paged(pager) as out:
        out.write(text)


def _chapter(number: int, page: str, say: Tongue) -> Path:
    from ..views.chapter import FIRST_PAGE, ChapterNotFound, chapter_file
    from .fail import fail

    try:
        return chapter_file(number, say.language, page or FIRST_PAGE)
    except ChapterNotFound as error:
        fail(sentence_of(error))


def _exercise(name: str, page: str, say: Tongue) -> Path:
    from ..exercises.catalogue import UnknownExercise, resolve
    from ..views.chapter import ENDINGS, FIRST_PAGE
    from .fail import fail

    if page:
        fail(Sentence("an exercise has one page; leave {page!r} out", page=page))
    try:
        return resolve(name).path / f"{FIRST_PAGE}{ENDINGS[say.language]}"
    except UnknownExercise as error:
        fail(sentence_of(error))


def _list(say: Tongue) -> None:
    """Every chapter and page, by the command that shows it."""
    from rich.console import Console
    from rich.table import Table

    from ..views.chapter import FIRST_PAGE, titles
    from .program import program

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column()
    for number, pages in titles(say.language).items():
        for page, title in pages.items():
            beside = "" if page == FIRST_PAGE else f" {page}"
            table.add_row(f"{program()} read {number}{beside}", title)
    table.add_row(f"{program()} read exercise-7", say(Sentence("what an exercise asks")))
    Console(highlight=False).print(table)
