"""Only the newest piece is kept back, so the beginning of a stop string of more tokens is shown.

Fails: many-tokens: leaked
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
        seen = self.held + text
        for stop in self.stop:
            if stop in seen:
                self.found, self.held = True, ""
                return seen[: seen.index(stop)]
        keep = min(len(text), max(map(len, self.stop)) - 1)
        shown = seen[: len(seen) - keep]
        self.held = seen[len(shown) :]
        return shown


class MyDetokenizeManager(DetokenizeManager):
    def _stop_finder(self, msg: StopStringsMsg) -> StopFinder:
        return MyStopFinder(msg.stop)
