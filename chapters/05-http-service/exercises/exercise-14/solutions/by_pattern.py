"""A regular expression reads one character after the other; `fullmatch` tells what may still become one."""

from __future__ import annotations

import re

from minisgl_tutor.message import StopStringsMsg
from minisgl_tutor.tokenizer.detokenize import DetokenizeManager
from minisgl_tutor.tokenizer.stop import StopFinder


class MyStopFinder(StopFinder):
    def __init__(self, stop: tuple[str, ...]) -> None:
        self.found = False
        self.held = ""
        self.stop = stop
        beginnings = {stop[:length] for stop in stop for length in range(1, len(stop))}
        self.beginning = re.compile("|".join(map(re.escape, sorted(beginnings))) or "(?!)", re.DOTALL)

    def feed(self, text: str) -> str:
        shown = ""
        for character in text:
            self.held += character
            for stop in sorted(self.stop, key=len, reverse=True):
                if self.held.endswith(stop):
                    shown += self.held.removesuffix(stop)
                    self.found, self.held = True, ""
                    return shown
            while self.held and not self.beginning.fullmatch(self.held):
                shown, self.held = shown + self.held[0], self.held[1:]
        return shown


class MyDetokenizeManager(DetokenizeManager):
    def _stop_finder(self, msg: StopStringsMsg) -> StopFinder:
        return MyStopFinder(msg.stop)
