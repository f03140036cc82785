"""The screen: steps, what moved, the code that sent it, what it changed. It shows and computes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Static

from ..language import NOTHING, Sentence, Tongue, counted, sentence_of, verbatim
from ..recording import Recording
from ..trace.clock import VirtualTimeError
from ..trace.fork import CannotFork
from ..trace.play import Play
from ..views.cursor import Cursor
from ..views.panes import code_pane, state_pane, step_pane, steps_pane
from ..views.source import Sources
from ..views.terminal import visible
from .dialogs import AskNumber, Choose, Tell
from .keys import FOOTER, HELP
from .takes import Otherwise, Scene, Take, beginning, fork_of, gap_labels, ways, with_gap

Replay = Callable[[Recording], Play]
"""Plays a recording under its own gaps."""

Save = Callable[[str, Recording], Path]
"""Writes a fork of the scene of that name to a new file. Raises OSError."""

SCROLL_BAR = 2
"""Columns for it, beside a text."""

GAPS = Sentence("switch a gap on or off, for the whole run ...")


class StepApp(App[None]):
    """Goes through ``scenes``; the first has been played."""

    ENABLE_COMMAND_PALETTE = False
    CSS_PATH = "app.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,space,l,down,j", "move(1)"),
        Binding("left,backspace,h,up,k", "move(-1)"),
        Binding("home", "to(1)"),
        Binding("end", "last"),
        Binding("g", "ask_number"),
        Binding("u", "next_of_uid(1)"),
        Binding("U", "next_of_uid(-1)"),
        Binding("tab", "choose_uid", priority=True),
        Binding("x", "next_gap(1)"),
        Binding("X", "next_gap(-1)"),
        Binding("t", "ask_title"),
        Binding("n", "next_titled(1)"),
        Binding("N", "next_titled(-1)"),
        Binding("c", "caller"),
        Binding("f", "fork"),
        Binding("z", "unfork"),
        Binding("left_square_bracket", "scene(-1)"),
        Binding("right_square_bracket", "scene(1)"),
        Binding("pagedown", "scroll(1)"),
        Binding("pageup", "scroll(-1)"),
        Binding("question_mark", "help"),
        Binding("q,ctrl+c", "quit", priority=False),
    ]

    def __init__(
        self,
        scenes: Sequence[Scene],
        first: Play,
        replay: Replay,
        save: Save,
        sources: Sources,
        command: str,
        say: Tongue,
        from_step: int = 1,
    ) -> None:
        super().__init__()
        self._scenes = scenes
        self._replay = replay
        self._save = save
        self._sources = sources
        self._command = command  # plays a recording, but for its name
        self._say = say
        self.saved: list[Path] = []
        self._place = 0
        self._takes: dict[int, list[Take]] = {
            0: [Take(scenes[0].recording, first, Cursor(first.steps, from_step))]
        }
        self._sought = ""  # what `n` goes to
        self._depth = 0  # of the caller whose code is shown
        self._busy = False

    @property
    def take(self) -> Take:
        return self._takes[self._place][-1]

    # -- the screen

    def compose(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        yield Static(id="steps", markup=False)
        with VerticalScroll(id="moved", can_focus=False):
            yield Static(id="step", markup=False)
        with Horizontal():
            yield Static(id="code", markup=False)
            with VerticalScroll(id="held", can_focus=False):
                yield Static(id="state", markup=False)
        yield Static(id="told", markup=False)
        yield Static(self._say(FOOTER), id="footer", markup=False)

    def on_mount(self) -> None:
        self.call_after_refresh(self.show)

    def on_resize(self) -> None:
        self.call_after_refresh(self.show)

    def show(self) -> None:
        """Everything anew, for the present step."""
        cursor, say = self.take.cursor, self._say
        code = self._pane("code").content_size
        panes = {
            "title": self._title_line(),
            "steps": steps_pane(cursor, self._pane("steps").content_size.height, say),
            "step": step_pane(cursor.step, cursor.uid, max(20, self.size.width - SCROLL_BAR), say),
            "code": code_pane(cursor.step, self._depth, code.height, code.width, self._sources, say),
            "state": state_pane(cursor.step, say),
        }
        for name, text in panes.items():
            self._pane(name).update(text)
        for name in ("#moved", "#held"):
            self.screen_stack[0].query_one(name).scroll_home(animate=False)

    def tell(self, sentence: Sentence) -> None:
        self._pane("told").update(visible(self._say(sentence)))

    def _pane(self, name: str) -> Static:
        return self.screen_stack[0].query_one(f"#{name}", Static)

    def _title_line(self) -> Text:
        take, step = self.take, self.take.cursor.step
        forks = len(self._takes[self._place]) - 1
        parts = [Sentence("step {number} of {total}", number=step.number, total=len(take.play.steps))]
        if take.cursor.uid is not None:
            parts.append(Sentence("uid {uid}", uid=take.cursor.uid))
        if len(self._scenes) > 1:
            parts.append(
                Sentence("scene {number} of {total}", number=self._place + 1, total=len(self._scenes))
            )
        if forks:
            parts.append(Sentence("fork {number}", number=forks))
        on = take.play.gaps
        parts.append(
            counted("gap on: {name}", "{count} gaps on", count=len(on), name=on[0])
            if on
            else Sentence("no gap on")
        )
        parts.append(self._scenes[self._place].title)
        return Text(" | ".join(visible(self._say(part)) for part in parts))

    # -- ways on

    def _went(self, moved: bool, otherwise: Sentence = NOTHING) -> None:
        self._depth = 0
        self.tell(NOTHING if moved else otherwise)
        self.show()

    def action_move(self, by: int) -> None:
        self._went(self.take.cursor.move(by), Sentence("There is no step further on."))

    def action_to(self, number: int) -> None:
        self._went(self.take.cursor.to(number))

    def action_last(self) -> None:
        self.action_to(len(self.take.play.steps))

    def action_next_of_uid(self, direction: int) -> None:
        uid = self.take.cursor.uid
        nothing = Sentence("No further step is about uid {uid}.", uid=uid)
        self._went(self.take.cursor.next_of_uid(direction), nothing)

    def action_choose_uid(self) -> None:
        only_one = Sentence("This step is about one request at most.")
        self._went(self.take.cursor.choose_next_uid(), only_one)

    def action_next_gap(self, direction: int) -> None:
        nothing = Sentence("The auditor found nothing further in that direction.")
        self._went(self.take.cursor.next_gap(direction), nothing)

    def action_next_titled(self, direction: int) -> None:
        if not self._sought:
            self.action_ask_title()
            return
        moved = self.take.cursor.next_titled(self._sought, direction)
        self._went(moved, Sentence("There is no {title} further in that direction.", title=self._sought))

    def action_ask_number(self) -> None:
        def go(number: int | None) -> None:
            if number is not None:
                self.action_to(number)

        question = Sentence("Go to step (1 to {last}):", last=len(self.take.play.steps))
        self.push_screen(AskNumber(question, self._say), go)

    def action_ask_title(self) -> None:
        titles = self.take.cursor.titles()

        def go(place: int | None) -> None:
            if place is not None:
                self._sought = titles[place]
                self.action_next_titled(1)

        question = Sentence("Go to the next (then n: again, N: back)")
        self.push_screen(Choose(question, [verbatim(title) for title in titles], self._say), go)

    def action_caller(self) -> None:
        self._depth += 1
        self.show()

    def action_scroll(self, direction: int) -> None:
        held = self.screen_stack[0].query_one("#held")
        held.scroll_relative(y=direction * max(1, held.size.height - 1), animate=False)

    def action_help(self) -> None:
        self.push_screen(Tell(HELP, self._say))

    # -- other takes

    def action_scene(self, by: int) -> None:
        place = self._place + by
        if self._busy or not 0 <= place < len(self._scenes):
            self.tell(Sentence("There is no other scene in that direction."))
            return
        if place in self._takes:
            self._place = place
            self._went(True)
        else:
            self._play(self._scenes[place].recording, partial(self._enter_scene, place))

    def _enter_scene(self, place: int, play: Play) -> None:
        self._takes[place] = [Take(self._scenes[place].recording, play, Cursor(play.steps))]
        self._place = place
        self._went(True)

    def action_fork(self) -> None:
        found = ways(self.take)

        def go(place: int | None) -> None:
            if place == len(found):
                self._ask_gap()
            elif place is not None:
                self._go_on(found[place])

        question = Sentence("From this step on, otherwise")
        self.push_screen(Choose(question, [*(way.label for way in found), GAPS], self._say), go)

    def _ask_gap(self) -> None:
        labels = gap_labels(self.take.play.gaps)

        def go(place: int | None) -> None:
            if place is not None:
                self._fork(with_gap(self.take, self._scenes[self._place].title, labels[place][0]))

        self.push_screen(Choose(Sentence("Switch a gap"), [label for _, label in labels], self._say), go)

    def _go_on(self, way: Otherwise) -> None:
        try:
            self._fork(fork_of(self.take, self._scenes[self._place].title, way))
        except CannotFork as error:
            self.tell(Sentence("Not possible: {why}", why=sentence_of(error)))

    def _fork(self, recording: Recording) -> None:
        self._play(recording, partial(self._enter_fork, recording))

    def _enter_fork(self, recording: Recording, play: Play) -> None:
        old = self.take
        new = Take(recording, play, Cursor(play.steps, beginning(old, play)))
        try:
            path = self._save(self._scenes[self._place].name, recording)
            self.saved.append(path)
            told = Sentence("Saved; z: back.  {command} {file}", command=self._command, file=path)
        except OSError as error:
            why = error.strerror or error
            told = Sentence("Not saved ({why}); z: back to what was before.", why=why)
        self._takes[self._place].append(new)
        self._went(True)
        self.tell(told)

    def action_unfork(self) -> None:
        if len(self._takes[self._place]) > 1:
            self._takes[self._place].pop()
            self._went(True)
        else:
            self.tell(Sentence("This is no fork."))

    def _play(self, recording: Recording, then: Callable[[Play], None]) -> None:
        """Plays in a thread, since a play has an event loop of its own; one at a time."""
        if not self._busy:
            self._busy = True
            self.tell(Sentence("playing ..."))
            self.run_worker(self._play_and(recording, then))

    async def _play_and(self, recording: Recording, then: Callable[[Play], None]) -> None:
        try:
            play = await asyncio.to_thread(self._replay, recording)
        except VirtualTimeError as error:
            self.tell(Sentence("It does not come to an end that way: {why}", why=error.sentence))
        except Exception as error:  # a component, or a class of the reader's, fails of what befalls it
            what = sentence_of(error)
            self.tell(
                Sentence("A component fails that way: {kind}: {what}", kind=type(error).__name__, what=what)
            )
        else:
            then(play)
        finally:
            self._busy = False
