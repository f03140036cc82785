"""Messages that the scheduler receives."""

from __future__ import annotations

import msgspec

from .sampling import SamplingParams


class UserMsg(msgspec.Struct, frozen=True, tag=True):
    """Tokenizer -> scheduler: a request as token ids (C2.27)."""

    uid: int
    input_ids: list[int]
    sampling_params: SamplingParams


class AbortBackendMsg(msgspec.Struct, frozen=True, tag=True):
    """Tokenizer -> scheduler: cancel ``uid`` (C5.16)."""

    uid: int


BackendMsg = UserMsg | AbortBackendMsg
"""What a scheduler receives."""


class BatchBackendMsg(msgspec.Struct, frozen=True, tag=True):
    """Several messages for the scheduler, in order (C2.28, C5.14)."""

    data: list[BackendMsg]
