"""At a character that does not fit it begins anew, and forgets that the last ones may be a beginning.

Fails: falls-back: leaked
"""

from __future__ import annotations

from minisgl_tutor.message import StopStringsMsg
from minisgl_tutor.tokenizer.detokenize import DetokenizeManager
from minisgl_tutor.tokenizer.stop import StopFinder


class MyStopFinder(StopFinder):
    def __init__(self, stop: tuple[str, ...]) -> None:
        self.found = False
        self.held = ""
        self.stop = stop

    def feed(self, text: str) -> str:
        (stop, *_) = self.stop
        shown = ""
        for character in text:
            self.held += character
            if self.held == stop:
                self.found, self.held = True, ""
                return shown
            if not stop.startswith(self.held):
                shown += self.held[:-1]
                self.held = character if stop.startswith(character) else ""
                shown += "" if self.held else character
        return shown


class MyDetokenizeManager(DetokenizeManager):
    def _stop_finder(self, msg: StopStringsMsg) -> StopFinder:
        return MyStopFinder(msg.stop)
