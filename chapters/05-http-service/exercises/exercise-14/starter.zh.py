"""练习 14：不论停止串怎样被切成 token，回答都在它前面结束。

`feed` 得到每个 token 新带来的文本，返回其中可以给客户端看的部分。停止串出现时，
它把 `found` 置为真；扣住的内容在 `held` 里，回答因别的原因结束时会给出。
这个类只在每一段文本里单独找停止串。
题目要求见旁边的 exercise-14.zh.md。
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
