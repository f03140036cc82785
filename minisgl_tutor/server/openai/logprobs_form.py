"""Logprobs in the forms of the two interfaces. Each is asked for the tokens of an answer in their order."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import Any

from ...message import ScoredText, TextLogprobs


class ChatLogprobs:
    """One entry a token, with the likeliest ones in its place."""

    def shown(self, logprobs: Sequence[TextLogprobs]) -> dict[str, Any] | None:
        if not logprobs:
            return None
        content = [
            {**_entry(each.chosen), "top_logprobs": [_entry(top) for top in each.top]} for each in logprobs
        ]
        return {"content": content, "refusal": None}


class CompletionLogprobs:
    """One list for each property. ``text_offset`` is where in the answer's text a token's first character is.

    A token that is a part of a character is named by its bytes, as no text tells it from others.
    """

    def __init__(self) -> None:
        self._offset = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def shown(self, logprobs: Sequence[TextLogprobs]) -> dict[str, Any] | None:
        if not logprobs:
            return None
        return {
            "tokens": [_name(each.chosen) for each in logprobs],
            "token_logprobs": [each.chosen.logprob for each in logprobs],
            "top_logprobs": [
                {_name(scored): scored.logprob for scored in (each.chosen, *each.top)} for each in logprobs
            ],
            "text_offset": [self._place(each.chosen) for each in logprobs],
        }

    def _place(self, scored: ScoredText) -> int:
        before = self._offset
        self._offset += len(self._decoder.decode(scored.utf8))
        # What a token before it left unfinished may have become a mark of its own just now.
        return self._offset - len(scored.text) if _is_whole(scored) else before


def _entry(scored: ScoredText) -> dict[str, Any]:
    return {"token": scored.text, "logprob": scored.logprob, "bytes": list(scored.utf8)}


def _is_whole(scored: ScoredText) -> bool:
    return scored.text.encode() == scored.utf8


def _name(scored: ScoredText) -> str:
    if _is_whole(scored):
        return scored.text
    return "bytes:" + "".join(f"\\x{byte:02x}" for byte in scored.utf8)
