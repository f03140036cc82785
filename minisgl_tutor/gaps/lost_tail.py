"""What is left of an answer that ends within a character is shown only up to its last space (C2.57).

The rule that holds text back while more is to come is applied where nothing more
comes: an unfinished character is lost, and with it the finished ones before it.
"""

from __future__ import annotations

from ..tokenizer.detokenize import DecodeStatus, DetokenizeManager
from ..tokenizer.pieces import REPLACEMENT


class LostTail(DetokenizeManager):
    def _flush(self, status: DecodeStatus) -> str:
        text = super()._flush(status)
        return text[: text.rfind(" ") + 1] if text.endswith(REPLACEMENT) else text
