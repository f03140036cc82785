"""``minisgl-tutor read``: a chapter, or what an exercise asks, on the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..language import Sentence, sentence_of, verbatim
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
    _tell_next(what, page, say)


def _chapter(number: int, page: str, say: Tongue) -> Path:
    from ..views.chapter import FIRST_PAGE, ChapterNotFound, chapter_file
    from .fail import fail

    try:
        return chapter_file(number, say.language, page or FIRST_PAGE)
    except ChapterNotFound as error:
        if page:
            fail(sentence_of(error))
        exercise = Sentence("{what}; an exercise has its whole name here, such as exercise-7")
        fail(exercise.with_values(what=sentence_of(error)))


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


def _tell_next(what: str, page: str, say: Tongue) -> None:
    """Behind the pager, as a reader may quit it before its end."""
    from ..views.chapter import FIRST_PAGE, titles
    from .told import tell_next

    steps: dict[str, Sentence] = {}
    if what.isdecimal():
        pages = [(number, each) for number, of in titles(say.language).items() for each in of]
        place = pages.index((int(what), page or FIRST_PAGE))
        for number, each in pages[place + 1 : place + 2]:
            steps[_read(number, each)] = verbatim(titles(say.language)[number][each])
        steps[f"exercises --chapter {int(what)}"] = Sentence("lists its exercises")
    else:
        steps |= _with_exercise(what, say)
    typer.echo()
    tell_next(steps, say)


def _with_exercise(name: str, say: Tongue) -> dict[str, Sentence]:
    from ..exercises.catalogue import resolve
    from .desk import Desk

    exercise, workspace = resolve(name), Desk(say).workspace
    if not workspace.file(exercise).is_file():
        return {f"start {exercise.name}": Sentence("puts a file there, for you to change")}
    return {
        f"check {exercise.name}": Sentence("judges {file}", file=workspace.file(exercise).name),
        f"hint {exercise.name}": Sentence("helps, three times at most"),
    }


def _read(number: int, page: str) -> str:
    from ..views.chapter import FIRST_PAGE

    return f"read {number}" if page == FIRST_PAGE else f"read {number} {page}"


def _list(say: Tongue) -> None:
    """Every chapter and page, by the command that shows it."""
    from rich.console import Console
    from rich.table import Table

    from ..views.chapter import titles
    from .program import program

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column()
    for number, pages in titles(say.language).items():
        for page, title in pages.items():
            table.add_row(f"{program()} {_read(number, page)}", title)
    table.add_row(f"{program()} read exercise-7", say(Sentence("what an exercise asks")))
    Console(highlight=False).print(table)
