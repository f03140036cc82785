"""Keeps the whole answer of a request, and how much of it has been shown."""

from __future__ import annotations

from minisgl_tutor.message import StopStringsMsg
from minisgl_tutor.tokenizer.detokenize import DetokenizeManager
from minisgl_tutor.tokenizer.stop import StopFinder


class MyStopFinder(StopFinder):
    def __init__(self, stop: tuple[str, ...]) -> None:
        self.found = False
        self.stop = stop
        self.answer = ""
        self.shown = 0

    @property
    def held(self) -> str:  # type: ignore[override]
        return self.answer[self.shown :]

    def feed(self, text: str) -> str:
        self.answer += text
        ends = [(self.answer.find(stop) + len(stop), stop) for stop in self.stop if stop in self.answer]
        if ends:
            first = min(end for end, _ in ends)
            self.found = True
            return self._show(first - max(len(stop) for end, stop in ends if end == first))
        safe = len(self.answer)
        for place in range(len(self.answer), self.shown - 1, -1):
            if any(stop.startswith(self.answer[place:]) for stop in self.stop):
                safe = place
        return self._show(safe)

    def _show(self, end: int) -> str:
        text = self.answer[self.shown : end]
        self.shown = max(self.shown, end)
        return text


class MyDetokenizeManager(DetokenizeManager):
    def _stop_finder(self, msg: StopStringsMsg) -> StopFinder:
        return MyStopFinder(msg.stop)
