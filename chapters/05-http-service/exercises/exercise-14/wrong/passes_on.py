"""Only calls what the server's own class has.

Fails: loads: not-loaded
"""

from __future__ import annotations

from minisgl_tutor.message import StopStringsMsg
from minisgl_tutor.tokenizer.detokenize import DetokenizeManager
from minisgl_tutor.tokenizer.stop import StopFinder


class MyDetokenizeManager(DetokenizeManager):
    def _stop_finder(self, msg: StopStringsMsg) -> StopFinder:
        return super()._stop_finder(msg)
