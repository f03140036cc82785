"""The place of a stop string is worked out in bytes, and used as one in characters.

Fails: bytes: leaked
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
        for end in range(1, len(seen) + 1):
            here = [stop for stop in self.stop if seen.endswith(stop, 0, end)]
            if here:
                self.found, self.held = True, ""
                return seen[: len(seen[: end - max(map(len, here))].encode())]
        keep = max(map(len, self.stop)) - 1
        shown = seen[: max(0, len(seen) - keep)]
        self.held = seen[len(shown) :]
        return shown


class MyDetokenizeManager(DetokenizeManager):
    def _stop_finder(self, msg: StopStringsMsg) -> StopFinder:
        return MyStopFinder(msg.stop)
