"""``minisgl-tutor read``: a chapter on the terminal."""

from __future__ import annotations

from typing import Annotated

import typer

from .caller import caller

WIDEST = 110
"""Lines of text that are longer than this are hard to follow; code is not."""


def read(
    context: typer.Context,
    chapter: Annotated[int, typer.Argument(help="The chapter's number.", show_default=False)],
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
    """Show the text of a chapter, with the answers to its questions at the end."""
    import shutil
    import sys

    from ..language import sentence_of
    from ..views.chapter import FIRST_PAGE, ChapterNotFound, chapter_file, rendered
    from .fail import fail
    from .pager import paged

    say = caller(context).say
    try:
        file = chapter_file(chapter, say.language, page or FIRST_PAGE)
    except ChapterNotFound as error:
        fail(sentence_of(error))
    width = min(shutil.get_terminal_size().columns, WIDEST)
    text = rendered(file, say, width, styled=sys.stdout.isatty())
    with paged(pager) as out:
        out.write(text)
