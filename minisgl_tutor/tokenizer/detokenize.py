"""From token ids to text that can be shown at once (C2.53 to C2.60, C5.174, C5.175).

A token may end in the middle of a character, so tokens are not decoded one by
one (C2.55). Each request keeps a short window of its last tokens. What the window
reads as with the newest token, beyond what it read as before, is new text:

    window      [ ... last token ][ newest token ]
    surr_str    <-- text already sent -->
    read_str    <-- text of all of it ------------------>
    new_text                              <------------->

The window shrinks to the newest token as soon as no unfinished character begins
before it, so the cost of a token does not depend on how many came before. Between
whole characters a token of whole characters is its own text, and nothing is decoded.

A stop string ends the answer here, as only here the text is known. The scheduler
goes on until it is told; what it still sends of the request is passed over.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..message import DetokenizeMsg, ErrorReply, StopStringsMsg, TextLogprobs, Usage, UserReply
from .logprobs import HeldLogprobs, as_texts
from .pieces import REPLACEMENT
from .stop import StopFinder
from .tokenizer import Tokenizer

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class DecodeStatus:
    """What is kept of one request between its tokens (C2.56).

    ``surr_str`` is what was read of the text of ``window``, which ``is_whole`` if it
    ends with a whole character. ``stops`` looks for its
    stop strings and ``prompt`` is the usage of its prompt, if it has any. A request
    that ``ended`` has had its last reply; the rest of what the scheduler sends of it
    is passed over until it is finished there as well.
    """

    tokens: int = 0
    window: list[int] = field(default_factory=list)
    surr_str: str = ""
    is_whole: bool = False
    stops: StopFinder | None = None
    prompt: Usage = field(default_factory=Usage)
    logprobs: HeldLogprobs | None = None
    ended: bool = False

    @property
    def usage_so_far(self) -> Usage:
        return Usage(self.prompt.prompt_tokens, self.tokens, self.prompt.cached_tokens)


class DetokenizeManager:
    """Owns the decode state of every request, by uid in ``decode_map`` (C5.174).

    State begins with a request's first message and ends with its finished one or
    an ``ErrorReply``. The scheduler sends nothing of a request after that; if it
    did, a new state would begin, as nothing tells a late token from a first one.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.decode_map: dict[int, DecodeStatus] = {}

    def detokenize(
        self, msgs: Sequence[StopStringsMsg | DetokenizeMsg | ErrorReply]
    ) -> list[UserReply | ErrorReply]:
        """The replies to ``msgs`` in order: one for each token.

        Its text is empty while a character is unfinished (C2.54) or may belong to a
        stop string. An ``ErrorReply`` ends its request and is passed on. A token that
        cannot be decoded ends its request with one, and a stop string with a finished
        reply; :meth:`awaits_finish` then holds.
        """
        replies: list[UserReply | ErrorReply] = []
        for msg in msgs:
            if isinstance(msg, ErrorReply):
                self.decode_map.pop(msg.uid, None)
                replies.append(msg)
                continue
            if isinstance(msg, StopStringsMsg):
                self.decode_map[msg.uid] = DecodeStatus(stops=self._stop_finder(msg), prompt=msg.usage)
                continue
            reply = self._reply(msg)
            if reply is not None:
                replies.append(reply)
        return replies

    def awaits_finish(self, uid: int) -> bool:
        """Whether ``uid`` ended here while the scheduler still computes it."""
        status = self.decode_map.get(uid)
        return status is not None and status.ended

    def held(self) -> dict[int, dict[str, int]]:
        """By uid, the number of tokens that its decode state has taken in."""
        return {uid: {"decode_map": status.tokens} for uid, status in self.decode_map.items()}

    def _stop_finder(self, msg: StopStringsMsg) -> StopFinder:
        return StopFinder(msg.stop)

    def _reply(self, msg: DetokenizeMsg) -> UserReply | ErrorReply | None:
        status = self.decode_map.get(msg.uid)
        if status is None:
            status = self.decode_map[msg.uid] = DecodeStatus()
        if msg.finished:
            del self.decode_map[msg.uid]
        if status.ended:
            return None
        try:
            text = self._new_text(status, msg)
            if msg.logprobs is not None and msg.finish_reason != "stop":
                status.logprobs = status.logprobs or HeldLogprobs()
                status.logprobs.put(as_texts(msg.logprobs, self.tokenizer.decoder), text)
        except Exception as error:
            status.ended = True
            logger.exception("token %s of request %s cannot be decoded", msg.next_token, msg.uid)
            message = f"the answer cannot be decoded: {error}"
            return ErrorReply(uid=msg.uid, message=message, code="detokenize_error")
        return self._shown(status, msg, text)

    def _shown(self, status: DecodeStatus, msg: DetokenizeMsg, text: str) -> UserReply:
        """The reply that shows ``text``, or what of it comes before a stop string."""
        finished, reason, usage = msg.finished, msg.finish_reason, msg.usage
        if status.stops is not None:
            text = status.stops.feed(text)
            if status.stops.found:
                status.ended = finished = True
                reason, usage = "stop", usage or status.usage_so_far
            elif finished:
                text += status.stops.held
        logprobs: tuple[TextLogprobs, ...] = ()
        if status.logprobs is not None:
            logprobs = status.logprobs.take(text, everything=finished and not status.ended)
        return UserReply(
            uid=msg.uid,
            incremental_output=text,
            finished=finished,
            finish_reason=reason,
            usage=usage,
            logprobs=logprobs,
        )

    def _new_text(self, status: DecodeStatus, msg: DetokenizeMsg) -> str:
        if msg.finish_reason == "abort":
            return ""  # nobody reads on
        token = msg.next_token
        # The token that ends an answer is no part of it.
        if token is not None and msg.finish_reason != "stop":
            if status.is_whole and (plain := self.tokenizer.plain_text(token)) is not None:
                status.tokens += 1
                status.window, status.surr_str = [token], plain.alone
                return plain.behind
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
            status.is_whole = bool(last) and not last_str.endswith(REPLACEMENT)
        else:
            status.surr_str += output_str
            status.is_whole = False
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
