"""What is kept back is no part of `held`, so an answer that ends there lacks it.

Fails: false-start: wrong-text
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
        self.kept = ""

    def feed(self, text: str) -> str:
        seen = self.kept + text
        for end in range(1, len(seen) + 1):
            here = [stop for stop in self.stop if seen.endswith(stop, 0, end)]
            if here:
                self.found, self.kept = True, ""
                return seen[: end - max(map(len, here))]
        keep = max(map(len, self.stop)) - 1
        shown = seen[: max(0, len(seen) - keep)]
        self.kept = seen[len(shown) :]
        return shown


class MyDetokenizeManager(DetokenizeManager):
    def _stop_finder(self, msg: StopStringsMsg) -> StopFinder:
        return MyStopFinder(msg.stop)
