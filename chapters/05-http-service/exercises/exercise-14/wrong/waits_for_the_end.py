"""It shows nothing before the end, so that nothing can be wrong.

Fails: one-token: held-back
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
        self.held += text
        ends = [(self.held.index(stop) + len(stop), -len(stop)) for stop in self.stop if stop in self.held]
        if ends:
            end, length = min(ends)
            text, self.held = self.held[: end + length], ""
            self.found = True
            return text
        return ""


class MyDetokenizeManager(DetokenizeManager):
    def _stop_finder(self, msg: StopStringsMsg) -> StopFinder:
        return MyStopFinder(msg.stop)
