"""Exercise 14: a stop string ends the answer, however it is cut into tokens.

`feed` gets the new text of each token and returns what of it the client may see. When a
stop string has come, it sets `found`; what it keeps back is in `held`, which is shown if
the answer ends otherwise. This one looks for a stop string in each piece by itself. What to do is in
exercise-14.md beside this file.
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
        for stop in self.stop:
            if stop in text:
                self.found = True
                return text[: text.index(stop)]
        return text


class MyDetokenizeManager(DetokenizeManager):
    def _stop_finder(self, msg: StopStringsMsg) -> StopFinder:
        return MyStopFinder(msg.stop)
