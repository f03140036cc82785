"""Questions that cover the screen for a moment: a number, or one of several. Escape answers nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from ..language import Sentence, Tongue


class AskNumber(ModalScreen[int | None]):
    """A whole number."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss", "Back")]

    def __init__(self, question: Sentence, say: Tongue) -> None:
        super().__init__()
        self._question = say(question)

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(self._question, markup=False)
            yield Input(type="integer")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(int(event.value) if event.value.isdecimal() else None)


class Choose(ModalScreen[int | None]):
    """One of several lines, by its place."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss", "Back")]

    def __init__(self, question: Sentence, lines: Sequence[Sentence], say: Tongue) -> None:
        super().__init__()
        self._question = say(Sentence("{question}   (↑ ↓ Enter; Esc: back)", question=question))
        self._lines = [say(line) for line in lines]

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(self._question, markup=False)
            yield OptionList(*(Option(Text(line)) for line in self._lines))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_index)


class Tell(ModalScreen[None]):
    """A text, until a key is pressed that leaves it."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,enter,q,question_mark", "dismiss", "Back")]

    def __init__(self, text: Sentence, say: Tongue) -> None:
        super().__init__()
        self._text = say(text)

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog"):
            yield Static(self._text, markup=False)
