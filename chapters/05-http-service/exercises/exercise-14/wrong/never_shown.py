"""What turns out to be no stop string is thrown away.

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

    def feed(self, text: str) -> str:
        seen = self.held + text
        for stop in self.stop:
            if stop in seen:
                self.found, self.held = True, ""
                return seen[: seen.index(stop)]
        for stop in self.stop:
            for length in range(len(stop) - 1, 0, -1):
                if seen.endswith(stop[:length]):
                    self.held = seen[-length:]
                    return (
                        seen[: len(seen) - length].removeprefix(stop[:1]) if text != seen else seen[:-length]
                    )
        self.held = ""
        return text


class MyDetokenizeManager(DetokenizeManager):
    def _stop_finder(self, msg: StopStringsMsg) -> StopFinder:
        return MyStopFinder(msg.stop)
