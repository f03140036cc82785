"""Of several stop strings the one that begins first counts, not the one that is complete first.

Fails: several: wrong-text
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
        places = [seen.find(stop) for stop in self.stop if stop in seen]
        if places:
            self.found, self.held = True, ""
            return seen[: min(places)]
        keep = 0
        for stop in self.stop:
            for size in range(1, len(stop)):
                if seen.endswith(stop[:size]):
                    keep = max(keep, size)
        self.held = seen[len(seen) - keep :]
        return seen[: len(seen) - keep]


class MyDetokenizeManager(DetokenizeManager):
    def _stop_finder(self, msg: StopStringsMsg) -> StopFinder:
        return MyStopFinder(msg.stop)
