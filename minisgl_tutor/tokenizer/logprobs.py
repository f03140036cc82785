"""Logprobs as texts, each held until the text of its token is shown.

So they never tell of text that a client does not get, and do not depend on how
the answer came in pieces.
"""

from __future__ import annotations

from ..message import ScoredText, ScoredToken, TextLogprobs, TokenLogprobs
from .pieces import TokenDecoder


class HeldLogprobs:
    """Those of one request. A token's place is where in the text the character begins that it belongs to."""

    def __init__(self) -> None:
        self._read = 0
        self._shown = 0
        self._waiting: list[tuple[int, TextLogprobs]] = []

    def put(self, logprobs: TextLogprobs, text: str) -> None:
        """The next token has come, and ``text`` could be read with it."""
        self._waiting.append((self._read, logprobs))
        self._read += len(text)

    def take(self, shown: str, everything: bool = False) -> tuple[TextLogprobs, ...]:
        """Those that go with the text ``shown`` next; ``everything``: no other text will come."""
        self._shown += len(shown)
        ready = [logprobs for place, logprobs in self._waiting if everything or place < self._shown]
        del self._waiting[: len(ready)]
        return tuple(ready)


def as_texts(logprobs: TokenLogprobs, decoder: TokenDecoder) -> TextLogprobs:
    """The same with each token as the text and the bytes that it stands for by itself."""

    def shown(scored: ScoredToken) -> ScoredText:
        utf8 = decoder.bytes_of(scored.token)
        return ScoredText(utf8.decode("utf-8", "replace"), utf8, scored.logprob)

    return TextLogprobs(shown(logprobs.chosen), tuple(shown(scored) for scored in logprobs.top))
