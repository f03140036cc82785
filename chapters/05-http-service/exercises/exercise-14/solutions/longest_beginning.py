"""Keeps the longest end of the text that is the beginning of a stop string."""

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
        ends = [(seen.index(stop) + len(stop), -len(stop)) for stop in self.stop if stop in seen]
        if ends:
            end, length = min(ends)
            self.found, self.held = True, ""
            return seen[: end + length]
        keep = 0
        for stop in self.stop:
            for length in range(1, min(len(stop) - 1, len(seen)) + 1):
                if seen.endswith(stop[:length]):
                    keep = max(keep, length)
        shown = seen[: len(seen) - keep]
        self.held = seen[len(shown) :]
        return shown


class MyDetokenizeManager(DetokenizeManager):
    def _stop_finder(self, msg: StopStringsMsg) -> StopFinder:
        return MyStopFinder(msg.stop)
