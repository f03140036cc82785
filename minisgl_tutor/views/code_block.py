"""Blocks of code in a text for a terminal. A line that is too wide goes on below, further to the right."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from rich import markdown
from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.syntax import Syntax
from rich.text import Text

HANGING = 4
"""How much further: more than one level of code is, so that nothing seems to belong to a block."""

LEAST = 20
"""A line that goes on has this much room, however far to the right it began."""


def folded(line: Text, console: Console, width: int) -> Iterator[Text]:
    """The line in pieces of at most ``width`` cells, broken between words where there are any."""
    if line.cell_len <= width:
        yield line
        return
    first = line.wrap(console, width)[0]
    yield first
    began = len(line.plain) - len(line.plain.lstrip())
    indent = max(0, min(began + HANGING, width - LEAST))
    rest = line[len(first.plain) :]
    rest = rest[len(rest.plain) - len(rest.plain.lstrip()) :]
    for piece in rest.wrap(console, width - indent):
        yield Text(" " * indent).append_text(piece)


class CodeBlock(markdown.CodeBlock):
    """As wide as the terminal, so that what a terminal shows is shown as it was."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = Syntax("", self.lexer_name, theme=self.theme).highlight(str(self.text).rstrip())
        text.rstrip()
        lines = [piece for line in text.split() for piece in folded(line, console, options.max_width)]
        yield Padding(Text("\n").join(lines), (1, 0))


class Markdown(markdown.Markdown):
    """Rich's, with these blocks."""

    elements: ClassVar[dict[str, type[markdown.MarkdownElement]]] = {
        **markdown.Markdown.elements,
        "fence": CodeBlock,
        "code_block": CodeBlock,
    }
