"""Of two that are there it takes the one that was asked for first, not the one that came first.

Fails: several: leaked
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
        keep = max(map(len, self.stop)) - 1
        shown = seen[: max(0, len(seen) - keep)]
        self.held = seen[len(shown) :]
        return shown


class MyDetokenizeManager(DetokenizeManager):
    def _stop_finder(self, msg: StopStringsMsg) -> StopFinder:
        return MyStopFinder(msg.stop)
