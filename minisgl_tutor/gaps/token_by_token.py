"""Every token is decoded by itself, so a character of several tokens becomes as many U+FFFD (C2.55)."""

from __future__ import annotations

from ..message import DetokenizeMsg
from ..tokenizer.detokenize import DecodeStatus, DetokenizeManager


class TokenByToken(DetokenizeManager):
    def _new_text(self, status: DecodeStatus, msg: DetokenizeMsg) -> str:
        if msg.next_token is None or msg.finish_reason == "stop":
            return ""
        status.tokens += 1
        return self.tokenizer.decode([msg.next_token])
