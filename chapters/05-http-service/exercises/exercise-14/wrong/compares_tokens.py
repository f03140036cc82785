"""The stop string is tokenized, and its tokens are looked for: the model may write it in others.

Fails: one-token: runs-on
"""

from __future__ import annotations

from minisgl_tutor.message import DetokenizeMsg, StopStringsMsg
from minisgl_tutor.tokenizer.detokenize import DecodeStatus, DetokenizeManager
from minisgl_tutor.tokenizer.stop import StopFinder
from minisgl_tutor.tokenizer.tokenizer import Tokenizer


class MyStopFinder(StopFinder):
    def __init__(self, stop: tuple[str, ...], tokenizer: Tokenizer) -> None:
        self.found = False
        self.held = ""
        self.stop = [tokenizer.encode(each, add_special_tokens=False) for each in stop]
        self.tokens: list[int] = []

    def feed(self, text: str) -> str:
        if any(self.tokens[-len(stop) :] == stop for stop in self.stop):
            self.found = True
            text = text.rstrip("#;STOP")
        return text


class MyDetokenizeManager(DetokenizeManager):
    def _stop_finder(self, msg: StopStringsMsg) -> StopFinder:
        return MyStopFinder(msg.stop, self.tokenizer)

    def _new_text(self, status: DecodeStatus, msg: DetokenizeMsg) -> str:
        if isinstance(status.stops, MyStopFinder) and msg.next_token is not None:
            status.stops.tokens.append(msg.next_token)
        return super()._new_text(status, msg)
