"""Messages that a tokenizer or detokenizer worker receives."""

from __future__ import annotations

from typing import Any

import msgspec

from .frontend import ErrorReply
from .logprobs import TokenLogprobs
from .sampling import FinishReason, SamplingParams, Usage


class TokenizeMsg(msgspec.Struct, frozen=True, tag=True):
    """API server -> tokenizer. ``text`` is a prompt, or a conversation for the template (C5.9, C5.10)."""

    uid: int
    text: str | list[dict[str, Any]]
    sampling_params: SamplingParams


class AbortMsg(msgspec.Struct, frozen=True, tag=True):
    """API server -> tokenizer: the client of ``uid`` is gone (C5.15)."""

    uid: int


# gc=False: there is one a token, and none can be part of a cycle.
class DetokenizeMsg(msgspec.Struct, frozen=True, tag=True, omit_defaults=True, gc=False):
    """Scheduler -> detokenizer: one new token of ``uid`` (C2.29).

    Exactly one message of a request has ``finished`` set; it says why and carries
    the usage. After a cancel that message has no token: it only clears what the
    detokenizer holds, behind the last token that was under way. ``logprobs`` comes
    with each token of a request that asked for it.
    """

    uid: int
    next_token: int | None = None
    finished: bool = False
    finish_reason: FinishReason | None = None
    usage: Usage | None = None
    logprobs: TokenLogprobs | None = None


class StopStringsMsg(msgspec.Struct, frozen=True, tag=True):
    """Scheduler -> detokenizer, ahead of the first token of ``uid``: the texts that end its answer.

    Sent only for a request that has some. ``usage`` is that of the prompt: what an
    answer that ends by one of them has to report.
    """

    uid: int
    stop: tuple[str, ...]
    usage: Usage


DetokenizerMsg = DetokenizeMsg | StopStringsMsg | ErrorReply
"""What a scheduler sends. ``ErrorReply`` passes through on its way to the front."""

TokenizerMsg = TokenizeMsg | AbortMsg | DetokenizerMsg
"""What a worker receives, which does either job."""


class BatchTokenizerMsg(msgspec.Struct, frozen=True, tag=True):
    """Several messages for a worker, in order."""

    data: list[TokenizerMsg]
