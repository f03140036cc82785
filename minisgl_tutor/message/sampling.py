"""What a request asks of the sampler, and what its ending reports."""

from __future__ import annotations

from typing import Literal

import msgspec

FinishReason = Literal["stop", "length", "abort"]
"""Why a request ended: an end-of-sequence token, its length limit, or a cancel."""


class SamplingParams(msgspec.Struct, frozen=True, omit_defaults=True):
    """The request values that travel to the scheduler (claim C5.11, and a seed).

    ``max_tokens`` counts generated tokens. ``temperature`` 0 is greedy. ``top_k``
    of -1 or 0 and ``top_p`` of 1 mean off. With a ``seed`` the draw of each token
    depends on the seed and the token's index alone, so it does not change with
    batching; without one the scheduler chooses a seed.
    """

    ignore_eos: bool = False
    max_tokens: int = 16
    temperature: float = 0.0
    top_k: int = -1
    top_p: float = 1.0
    seed: int | None = None


class Usage(msgspec.Struct, frozen=True):
    """Tokens of one request: prompt, generated, and prompt tokens found in the prefix cache."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
