"""The text so far is searched, but what has been shown cannot be taken back.

Fails: two-tokens: leaked
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
        self.so_far = ""

    def feed(self, text: str) -> str:
        self.so_far += text
        for stop in self.stop:
            if stop in self.so_far:
                self.found = True
                extra = len(self.so_far) - self.so_far.index(stop)
                return text[: max(0, len(text) - extra)]
        return text


class MyDetokenizeManager(DetokenizeManager):
    def _stop_finder(self, msg: StopStringsMsg) -> StopFinder:
        return MyStopFinder(msg.stop)
