"""``minisgl-tutor trace``: replays a recorded run through the server's own classes, hop by hop."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..language import Tongue
    from ..recording import Recording
    from ..tokenizer.tokenizer import Tokenizer
    from ..trace.play import Play
    from ..trace.steps import Step


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
    spec_version: Annotated[str, typer.Option(help="The ASGI version that the server declares.")] = "2.3",
    tokenizer: Annotated[
        Path | None, typer.Option(help="Where the recorded model's tokenizer is, if not where it was.")
    ] = None,
) -> None:
    """Replay a recorded run hop by hop, and see what each request leaves behind."""
    import logging
    import re

    from ..gaps import UnknownGap, resolve
    from ..language import Sentence, sentence_of
    from ..recording import RecordingError, read_recording
    from ..trace.clock import VirtualTimeError
    from ..trace.play import play, stream
    from ..trace.scenes import SceneNotFound, scene_of_gap, scenes_of, title_of
    from ..views.shown import ShownScene
    from .caller import caller
    from .fail import fail
    from .trace_claim import scene_of_claim
    from .trace_files import scene_name, write_files
    from .trace_print import print_plays
    from .trace_step import check_screen

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
    try:
        wanted = None if not gap else resolve(gap)
        if file is not None:
            paths = [file]
        elif chapter is not None:
            paths = [each.path for each in scenes_of(chapter, scene)]
        else:
            paths = list(dict.fromkeys(scene_of_gap(name) for name in wanted or ()))
        classes = () if yours is None else _reader_classes(yours)
        to_print: list[tuple[Sentence, Recording, tuple[str, ...]]] = []
        to_files: list[ShownScene] = []
        to_step: list[tuple[Path, Recording, tuple[str, ...]]] = []
        for path in paths:
            recording = read_recording(path)
            if fixed:
                gaps: tuple[str, ...] = ()
            elif wanted is not None:
                gaps = wanted
            else:
                gaps = resolve(recording.header.gaps if file is not None else ["reference"])
            if step:
                to_step.append((path, recording, gaps))
                continue
            title = title_of(recording, path)
            if html is None and perfetto is None:
                to_print.append((title, recording, gaps))
                continue
            words = _tokenizer(recording, tokenizer)
            result = play(recording, words, gaps, classes=classes, spec_version=spec_version)
            to_files.append(ShownScene(scene_name(path), title, result.gaps, result.steps))
        if to_step:
            _step_through(to_step, tokenizer, classes, spec_version, yours, from_step, say)
        if to_files:
            write_files(to_files, html, perfetto, from_step, yours, say)
        if to_print:

            def run(recording: Recording, gaps: tuple[str, ...], give: Callable[[Step], None]) -> Play:
                words = _tokenizer(recording, tokenizer)
                return stream(recording, words, gaps, give, classes=classes, spec_version=spec_version)

            print_plays(to_print, run, json, pager, from_step, chapter, say)
    except (SceneNotFound, RecordingError, UnknownGap, VirtualTimeError) as error:
        fail(sentence_of(error))


def _step_through(
    plays: list[tuple[Path, Recording, tuple[str, ...]]],
    tokenizer: Path | None,
    classes: Sequence[type],
    spec_version: str,
    yours: Path | None,
    from_step: int,
    say: Tongue,
) -> None:
    import shlex

    from ..stepper.takes import Scene
    from ..trace.fork import under_gaps
    from ..trace.play import play
    from ..trace.scenes import title_of
    from .program import program
    from .trace_files import scene_name
    from .trace_step import step_through

    def replay(recording: Recording) -> Play:
        gaps = tuple(recording.header.gaps)
        return play(
            recording, _tokenizer(recording, tokenizer), gaps, classes=classes, spec_version=spec_version
        )

    scenes = [
        Scene(scene_name(path), title_of(recording, path), under_gaps(recording, gaps))
        for path, recording, gaps in plays
    ]
    # What a fork does not say of itself.
    options = {"--tokenizer": tokenizer, "--yours": yours}
    words = [word for name, value in options.items() if value for word in (name, str(value))]
    words += [] if spec_version == "2.3" else ["--spec-version", spec_version]
    command = " ".join([f"{program()} trace", *map(shlex.quote, words)])
    step_through(scenes, replay, yours, from_step, command, say)


def _tokenizer(recording: Recording, given: Path | None) -> Tokenizer:
    from ..language import Sentence, sentence_of
    from ..resources import model_dir
    from ..tokenizer.load import TokenizerNotFound, load_tokenizer
    from ..trace.redacted import stand_in_tokenizer
    from ..trace.wall import recorded_clock
    from .fail import fail

    if recording.header.redacted is True:
        return stand_in_tokenizer(recording.header)
    model = recording.header.model
    try:
        directory = given or (model_dir() if model is None else Path(model))
        return load_tokenizer(directory, recorded_clock(recording))
    except TokenizerNotFound as error:
        fail(
            Sentence(
                "the recorded model has no tokenizer here ({why}); say where it is with --tokenizer DIR",
                why=sentence_of(error),
            )
        )


def _reader_classes(path: Path) -> Sequence[type]:
    from ..exercises.reader_file import ReaderFileError, load_classes
    from ..language import sentence_of
    from .fail import fail

    try:
        return load_classes(path)
    except ReaderFileError as error:
        fail(sentence_of(error))
