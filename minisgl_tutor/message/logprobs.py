"""How likely a token was: as ids on the way to the detokenizer, as texts on the way to the client.

A logprob is the natural logarithm of the probability that the model itself gave
the token: of its scores as they are, before temperature, penalties, biases and
filters. So it says the same whatever a request asked of the sampler. ``top``
holds the likeliest tokens of the same distribution, the likeliest first, and
need not have the chosen one among them. A probability of 0 reads as
``LEAST_LOGPROB``.
"""

from __future__ import annotations

import msgspec

LEAST_LOGPROB = -9999.0
"""What OpenAI's API says of a token that cannot come: a number, as JSON has no infinity."""


class ScoredToken(msgspec.Struct, frozen=True, array_like=True):
    """A token id and its logprob."""

    token: int
    logprob: float


class TokenLogprobs(msgspec.Struct, frozen=True, array_like=True):
    """The token that was drawn, and the likeliest ones in its place."""

    chosen: ScoredToken
    top: tuple[ScoredToken, ...] = ()


class ScoredText(msgspec.Struct, frozen=True, array_like=True):
    """A token as text, its UTF-8 bytes, and its logprob.

    A token that is a part of a character has U+FFFD as its text; its bytes tell which part.
    """

    text: str
    utf8: bytes
    logprob: float


class TextLogprobs(msgspec.Struct, frozen=True, array_like=True):
    """The same as ``TokenLogprobs``, to be shown."""

    chosen: ScoredText
    top: tuple[ScoredText, ...] = ()
