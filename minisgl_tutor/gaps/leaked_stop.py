"""Text is shown as soon as it is there, so the client gets the beginning of the stop string (C5.45).

The answer does end at the stop string; but when its last piece comes, those before
it have been sent.
"""

from __future__ import annotations

from ..message import StopStringsMsg
from ..tokenizer.detokenize import DetokenizeManager
from ..tokenizer.stop import StopFinder


class HastyStopFinder(StopFinder):
    """Holds nothing back: what could become a stop string is shown, and only noted as ``_shown``."""

    _shown = ""

    def feed(self, text: str) -> str:
        self.held, already = self._shown, self._shown
        shown = super().feed(text) + self.held
        self._shown, self.held = self.held, ""
        return shown[len(already) :]


class LeakedStop(DetokenizeManager):
    def _stop_finder(self, msg: StopStringsMsg) -> StopFinder:
        return HastyStopFinder(msg.stop)
