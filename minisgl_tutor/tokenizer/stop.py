"""Finds the text that ends an answer, however the answer comes in pieces.

Text that may be the beginning of a stop string is held back until it is one, or
turns out not to be. So what a client has been shown never holds a part of a
stop string, and does not depend on how the text was cut into tokens.
"""

from __future__ import annotations

from collections.abc import Sequence


class StopString:
    """One stop string, and how many of its characters are the end of what was read so far.

    It reads each character once (Knuth, Morris and Pratt): ``_borders[n]`` is the
    longest beginning of the string that is also the end of its first ``n``
    characters, without being all of them. That is what remains of a match of
    ``n`` characters when the next one does not fit.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.matched = 0
        self._borders = [0, 0]
        for character in text[1:]:
            border = self._extend(self._borders[-1], character)
            self._borders.append(border)

    def read(self, character: str) -> bool:
        """Whether the string is complete with this character. It must not be asked again after that."""
        self.matched = self._extend(self.matched, character)
        return self.matched == len(self.text)

    def _extend(self, matched: int, character: str) -> int:
        while matched and self.text[matched] != character:
            matched = self._borders[matched]
        return matched + (self.text[matched] == character)


class StopFinder:
    """Looks for several stop strings at once. The one that is complete first counts.

    Of those that are complete with the same character it is the longest. After
    ``found`` nothing may be fed any more.
    """

    def __init__(self, stop: Sequence[str]) -> None:
        self.found = False
        self.held = ""
        """The end of the text, which may be the beginning of a stop string."""
        self._strings = [StopString(text) for text in stop]

    def feed(self, text: str) -> str:
        """What can be shown now that ``text`` has come: up to a stop string, or to what may become one."""
        seen = self.held + text
        for end, character in enumerate(text, len(self.held) + 1):
            complete = [len(string.text) for string in self._strings if string.read(character)]
            if complete:
                self.found, self.held = True, ""
                return seen[: end - max(complete)]
        shown = len(seen) - max(string.matched for string in self._strings)
        self.held = seen[shown:]
        return seen[:shown]
