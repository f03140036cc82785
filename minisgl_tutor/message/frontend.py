"""Messages that the API server receives."""

from __future__ import annotations

import msgspec

from .logprobs import TextLogprobs
from .sampling import FinishReason, Usage


# gc=False: there is one a token, and none can be part of a cycle.
class UserReply(msgspec.Struct, frozen=True, tag=True, omit_defaults=True, gc=False):
    """Detokenizer -> API server: the text of ``uid`` that is new in this round (C5.12).

    ``finish_reason`` and ``usage`` come with the finished reply alone.
    ``logprobs`` has one entry for each token that became text in this reply, if the
    request asked for it.
    """

    uid: int
    incremental_output: str
    finished: bool
    finish_reason: FinishReason | None = None
    usage: Usage | None = None
    logprobs: tuple[TextLogprobs, ...] = ()


class ErrorReply(msgspec.Struct, frozen=True, tag=True, omit_defaults=True):
    """The request ends here without (further) text. It stands in the place of a finished reply (C5.165).

    ``status`` is the HTTP status that fits; ``code`` a short machine-readable
    name; ``param`` the request field at fault.
    """

    uid: int
    message: str
    status: int = 500
    code: str = "internal_error"
    param: str | None = None

    @property
    def finished(self) -> bool:
        return True


Reply = UserReply | ErrorReply
"""What an API server receives."""


class BatchFrontendMsg(msgspec.Struct, frozen=True, tag=True):
    """Several replies in order."""

    data: list[Reply]
