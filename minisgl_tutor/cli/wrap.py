"""Text that arrives in pieces, broken between words and not within them at the edge of a terminal."""

from __future__ import annotations

from rich.cells import cell_len


class Wrap:
    """Breaks lines before they are wider than ``width`` cells.

    The last word is held back until it is whole. Characters of East Asian width
    may be parted anywhere, as those scripts do.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._column = 0
        self._space = ""
        self._word = ""

    def feed(self, piece: str) -> str:
        """What can be shown once ``piece`` has come."""
        shown = []
        for character in piece:
            if character == "\n":
                shown += [self._take_word(), "\n"]
                self._column, self._space = 0, ""
            elif character.isspace():
                shown.append(self._take_word())
                self._space += character
            elif cell_len(character) > 1:
                shown.append(self._take_word())
                self._word = character
                shown.append(self._take_word())
            else:
                self._word += character
        return "".join(shown)

    def end(self) -> str:
        """What was held back."""
        return self._take_word()

    def _take_word(self) -> str:
        if not self._word:
            return ""
        before, word = self._space, self._word
        self._space = self._word = ""
        if self._column and self._column + cell_len(before + word) > self._width:
            before, self._column = "\n", 0
        self._column += cell_len(before.strip("\n") + word)
        return before + word
