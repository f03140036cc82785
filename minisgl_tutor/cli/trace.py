"""``minisgl-tutor trace``: replays a recorded run through the server's own classes, hop by hop."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

SPEC_VERSION = "2.3"


def trace(
    context: typer.Context,
    file: Annotated[
        Path | None, typer.Argument(help="A recording, as `serve --record` writes it.", show_default=False)
    ] = None,
    chapter: Annotated[int | None, typer.Option(help="Play the scenes of this chapter.")] = None,
    scene: Annotated[str | None, typer.Option(help="Only this scene of the chapter.")] = None,
    fixed: Annotated[bool, typer.Option("--fixed", help="Without any gap: the classes as they are.")] = False,
    gap: Annotated[
        list[str] | None,
        typer.Option(
            help="With this gap alone; repeatable. `reference`: all cleanup gaps, as a chapter has. "
            "With neither chapter nor recording, the gap's own scene is played."
        ),
    ] = None,
    claim: Annotated[
        str | None,
        typer.Option(help="Play the scene that shows a statement of the chapters, such as C5.122."),
    ] = None,
    step: Annotated[
        bool,
        typer.Option("--step", help="Go through the steps on a screen, and let the run go on otherwise."),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON Lines.")] = False,
    html: Annotated[
        Path | None,
        typer.Option(
            help="Write a page that shows the steps in a browser, without a network, instead of printing."
        ),
    ] = None,
    perfetto: Annotated[
        Path | None,
        typer.Option(help="Write the steps for Perfetto or chrome://tracing, instead of printing."),
    ] = None,
    pager: Annotated[
        bool,
        typer.Option(
            "--pager/--no-pager", help="On a terminal, print through $PAGER, or `less` if there is none."
        ),
    ] = True,
    from_step: Annotated[int, typer.Option(min=1, help="Begin at this step.")] = 1,
    yours: Annotated[
        Path | None,
        typer.Option(help="A file with classes of yours, to take the place of those that they derive from."),
    ] = None,
    spec_version: Annotated[
        str, typer.Option(help="The ASGI version that the server declares.")
    ] = SPEC_VERSION,
    tokenizer: Annotated[
        Path | None, typer.Option(help="Where the recorded model's tokenizer is, if not where it was.")
    ] = None,
) -> None:
    """Replay a recorded run hop by hop, and see what each request leaves behind."""
    import logging

    from ..gaps import UnknownGap
    from ..language import Sentence, sentence_of
    from ..recording import RecordingError
    from ..trace.clock import VirtualTimeError
    from ..trace.scenes import SceneNotFound
    from .caller import caller
    from .fail import fail
    from .trace_claim import scene_of_claim
    from .trace_files import write_files
    from .trace_plays import chosen, player
    from .trace_print import print_plays
    from .trace_step import check_screen, step_through

    say = caller(context).say
    # What the components log is in the trace, or it is nothing that a reader of it misses.
    logging.getLogger("minisgl_tutor").addHandler(logging.NullHandler())
    if json and (html or perfetto):
        fail(Sentence("--json prints, --html and --perfetto write a file instead: give one or the other"))
    if step and (json or html or perfetto):
        fail(
            Sentence("--step shows the steps on a screen; --json, --html and --perfetto are given without it")
        )
    if step:
        check_screen()
    if claim is not None:
        if file or chapter is not None or gap or fixed:
            fail(Sentence("--claim says by itself what is played, and with which gaps; give it alone"))
        file, gap, from_step = scene_of_claim(claim, say)
        fixed = not gap
    _check(file, chapter, scene, gap, fixed, spec_version)
    try:
        plays = chosen(file, chapter, scene, gap or (), fixed)
        playing = player(tokenizer, yours, spec_version)
        if step:
            step_through(plays, playing, from_step, say)
        elif html or perfetto:
            write_files(plays, playing, html, perfetto, from_step, say)
        else:
            asked = (gap or ()) if file is None else ()
            print_plays(plays, playing, json, pager, from_step, chapter, asked, say)
    except (SceneNotFound, RecordingError, UnknownGap, VirtualTimeError) as error:
        fail(sentence_of(error))


def _check(
    file: Path | None,
    chapter: int | None,
    scene: str | None,
    gap: list[str] | None,
    fixed: bool,
    spec_version: str,
) -> None:
    """Ends the program with a sentence if it is not clear what is to be played, and how."""
    import re

    from ..language import Sentence
    from .fail import fail

    if fixed and gap:
        fail(Sentence("--fixed and --gap say opposite things: give one of them"))
    if scene is not None and chapter is None:
        fail(Sentence("--scene needs its chapter: add --chapter 5"))
    if not re.fullmatch(r"\d{1,3}\.\d{1,3}", spec_version, re.ASCII):
        fail(
            Sentence(
                "'{version}' is no ASGI version; give one such as --spec-version 2.4", version=spec_version
            )
        )
    if (file is not None and chapter is not None) or not (file or chapter is not None or gap):
        fail(
            Sentence(
                "say what to play: a chapter (`trace --chapter 5`) or a recording (`trace FILE`), not both"
            )
        )
