"""Prints plays while they go on, as text or as JSON Lines, so that a long one needs no more memory."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from ..language import Sentence
from ..trace.scenes import scenes_of
from .pager import paged
from .told import tell_next

if TYPE_CHECKING:
    from rich.console import Console

    from ..language import Sentence, Tongue
    from ..recording import Header, Recording
    from ..trace.play import Play
    from ..trace.steps import Step
    from .trace_plays import Chosen, Player

Give = Callable[["Step"], None]


class Printer(Protocol):
    """How a play is printed: its opening, each step, and what came of it."""

    def opening(self, title: Sentence, gaps: tuple[str, ...], header: Header) -> None: ...

    def step(self, step: Step) -> None: ...

    def closing(self, result: Play) -> None: ...


class TextPrinter:
    """Blocks for a reader. The first play is preceded by a word on how to read them."""

    def __init__(self, console: Console, say: Tongue) -> None:
        self.console = console
        self._say = say
        self._is_first = True

    def opening(self, title: Sentence, gaps: tuple[str, ...], header: Header) -> None:
        from ..views.terminal import print_legend, print_opening

        if self._is_first:
            print_legend(self.console, self._say)
        self._is_first = False
        print_opening(self.console, title, gaps, self._say)

    def step(self, step: Step) -> None:
        from ..views.terminal import print_step

        print_step(self.console, step, self._say)

    def closing(self, result: Play) -> None:
        from ..views.terminal import print_verdict

        print_verdict(self.console, result, self._say)


class JsonPrinter:
    """JSON Lines on standard output."""

    def opening(self, title: Sentence, gaps: tuple[str, ...], header: Header) -> None:
        from ..views.json_lines import write_opening

        write_opening(sys.stdout.buffer, title, gaps, header)

    def step(self, step: Step) -> None:
        from ..views.json_lines import write_step

        write_step(sys.stdout.buffer, step)

    def closing(self, result: Play) -> None:
        from ..views.json_lines import write_closing

        write_closing(sys.stdout.buffer, result)
        sys.stdout.buffer.flush()


@contextmanager
def printing(json: bool, pager: bool, say: Tongue) -> Iterator[Printer]:
    """A printer to standard output, text through the reader's pager if ``pager`` says so."""
    if json:
        yield JsonPrinter()
        return
    from rich.console import Console

    class ReadersConsole(Console):
        """Tells its caller that the reader has gone, instead of ending the program wherever it is."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    with paged(pager) as out:
        if out is not sys.stdout:
            width = shutil.get_terminal_size().columns
            console = ReadersConsole(file=out, force_terminal=True, width=width, highlight=False)
            yield TextPrinter(console, say)
            return
        console = ReadersConsole(highlight=False)
        try:
            yield TextPrinter(console, say)
        except BrokenPipeError:
            Console.on_broken_pipe(console)  # ends the program quietly


def print_plays(
    plays: Sequence[Chosen],
    player: Player,
    json: bool,
    pager: bool,
    from_step: int,
    chapter: int | None,
    gaps: Sequence[str],
    say: Tongue,
) -> None:
    """Prints plays from a step on, and behind scenes of a chapter, or of gaps, what to do next.

    That comes behind the pager, as a reader may quit it before its end.
    """
    with printing(json, pager, say) as printer:
        for each in plays:
            printer.opening(each.title, each.gaps, each.recording.header)
            with _bar(each.recording) as advance:

                def give(step: Step, advance: Give = advance) -> None:
                    advance(step)
                    if step.number >= from_step:
                        printer.step(step)

                printer.closing(player.stream(each.recording, each.gaps, give))
    if not json and (steps := _next(chapter, gaps, faulty=any(each.gaps for each in plays))):
        tell_next(steps, say)


def _next(chapter: int | None, gaps: Sequence[str], faulty: bool) -> dict[str, Sentence]:
    """Behind a chapter's scenes, or those of ``gaps``; nothing behind a run of one's own."""
    by_steps = Sentence("step by step, forward and back")
    if chapter is None:
        about = {f"gaps {name}": Sentence("explains it, and says how to play it without") for name in gaps}
        options = " ".join(f"--gap {name}" for name in gaps)
        return {f"trace {options} --step": by_steps, **about} if gaps else {}
    if faulty:
        steps = {f"trace --chapter {chapter} --fixed": Sentence("without a gap")}
    else:
        steps = {f"trace --chapter {chapter}": Sentence("with the gaps of the reference")}
    names = [each.name for each in scenes_of(chapter)]
    if len(names) > 1:
        steps[f"trace --chapter {chapter} --scene NAME"] = Sentence("one of {names}", names=", ".join(names))
    return steps | {f"trace --chapter {chapter} --step": by_steps, f"read {chapter}": Sentence("the chapter")}


@contextmanager
def _bar(recording: Recording) -> Iterator[Give]:
    """On standard error, if that is a terminal and the steps go elsewhere: how much of the time is played."""
    if not sys.stderr.isatty() or sys.stdout.isatty():
        yield lambda step: None
        return
    from ..language import Sentence
    from ..progress import progress

    last_us = max((line.t for line in recording.lines), default=0)
    reached_us = 0
    with progress(Sentence("replaying"), last_us) as advance:

        def advance_to(step: Step) -> None:
            nonlocal reached_us
            if step.t_us - reached_us > last_us // 1000:
                advance(step.t_us - reached_us)
                reached_us = step.t_us

        yield advance_to
