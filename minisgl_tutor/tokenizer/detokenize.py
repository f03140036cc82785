"""From token ids to text that can be shown at once (C2.53 to C2.60, C5.174, C5.175).

A token may end in the middle of a character, so tokens are not decoded one by
one (C2.55). Each request keeps a short window of its last tokens. What the window
reads as with the newest token, beyond what it read as before, is new text:

    window      [ ... last token ][ newest token ]
    surr_str    <-- text already sent -->
    read_str    <-- text of all of it ------------------>
    new_text                              <------------->

The window shrinks to the newest token as soon as no unfinished character begins
before it, so the cost of a token does not depend on how many came before.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..message import DetokenizeMsg, ErrorReply, UserReply
from .pieces import REPLACEMENT
from .tokenizer import Tokenizer

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class DecodeStatus:
    """What is kept of one request between its tokens (C2.56).

    ``surr_str`` is what was sent of the text of ``window``. A request that
    ``failed`` has had its last reply; the rest of what the scheduler sends of it is
    passed over until it is finished there as well.
    """

    tokens: int = 0
    window: list[int] = field(default_factory=list)
    surr_str: str = ""
    failed: bool = False


class DetokenizeManager:
    """Owns the decode state of every request, by uid in ``decode_map`` (C5.174).

    State begins with a request's first message and ends with its finished one or
    an ``ErrorReply``. The scheduler sends nothing of a request after that; if it
    did, a new state would begin, as nothing tells a late token from a first one.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.decode_map: dict[int, DecodeStatus] = {}

    def detokenize(self, msgs: Sequence[DetokenizeMsg | ErrorReply]) -> list[UserReply | ErrorReply]:
        """The replies to ``msgs`` in order: one each, its text empty while a character is unfinished (C2.54).

        An ``ErrorReply`` ends its request and is passed on. A token that cannot be
        decoded ends its request with one; :meth:`awaits_finish` then holds.
        """
        replies: list[UserReply | ErrorReply] = []
        for msg in msgs:
            if isinstance(msg, ErrorReply):
                self.decode_map.pop(msg.uid, None)
                replies.append(msg)
                continue
            reply = self._reply(msg)
            if reply is not None:
                replies.append(reply)
        return replies

    def awaits_finish(self, uid: int) -> bool:
        """Whether ``uid`` failed here while the scheduler still computes it."""
        status = self.decode_map.get(uid)
        return status is not None and status.failed

    def held(self) -> dict[int, dict[str, int]]:
        """By uid, the number of tokens that its decode state has taken in."""
        return {uid: {"decode_map": status.tokens} for uid, status in self.decode_map.items()}

    def _reply(self, msg: DetokenizeMsg) -> UserReply | ErrorReply | None:
        status = self.decode_map.setdefault(msg.uid, DecodeStatus())
        if msg.finished:
            del self.decode_map[msg.uid]
        if status.failed:
            return None
        try:
            text = self._new_text(status, msg)
        except Exception as error:
            status.failed = True
            logger.exception("token %s of request %s cannot be decoded", msg.next_token, msg.uid)
            message = f"the answer cannot be decoded: {error}"
            return ErrorReply(uid=msg.uid, message=message, code="detokenize_error")
        return UserReply(
            uid=msg.uid,
            incremental_output=text,
            finished=msg.finished,
            finish_reason=msg.finish_reason,
            usage=msg.usage,
        )

    def _new_text(self, status: DecodeStatus, msg: DetokenizeMsg) -> str:
        if msg.finish_reason == "abort":
            return ""  # nobody reads on
        token = msg.next_token
        # The token that ends an answer is no part of it.
        if token is not None and msg.finish_reason != "stop":
            if token not in self.tokenizer:
                raise ValueError(f"the model produced token {token}, which it does not have")
            status.tokens += 1
            if not self.tokenizer.is_silent(token):
                status.window.append(token)
        return self._flush(status) if msg.finished else self._advance(status)

    def _advance(self, status: DecodeStatus) -> str:
        """The text that the newest token completes."""
        window = status.window
        read_str = self.tokenizer.decoder.decode(window)
        new_text = read_str[len(status.surr_str) :]
        unfinished = self._unfinished(window, read_str)
        output_str = find_printable_text(new_text, unfinished)

        last = window[-1:]
        last_str = self.tokenizer.decoder.decode(last)
        if self._unfinished(last, last_str) == unfinished:
            # No unfinished character begins before the last token, so what comes can be read from there.
            status.window = last
            status.surr_str = find_printable_text(last_str, unfinished)
        else:
            status.surr_str += output_str
        return output_str

    def _flush(self, status: DecodeStatus) -> str:
        """What is left at the end: a character that nothing will complete now shows as U+FFFD."""
        return self.tokenizer.decoder.decode(status.window)[len(status.surr_str) :]

    def _unfinished(self, ids: Sequence[int], text: str) -> int:
        return self.tokenizer.decoder.unfinished(ids) if text.endswith(REPLACEMENT) else 0


def find_printable_text(text: str, unfinished: int) -> str:
    """``text`` without its last ``unfinished`` marks, which stand for a character to come (C2.58, C2.59).

    A U+FFFD that is meant, or that stands for bytes which can become no character
    any more, is as printable as any other text.
    """
    return text[: len(text) - unfinished]
