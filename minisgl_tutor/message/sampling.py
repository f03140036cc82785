"""What a request asks of the sampler, and what its ending reports."""

from __future__ import annotations

from typing import Literal

import msgspec

FinishReason = Literal["stop", "length", "abort"]
"""Why a request ended: an end-of-sequence token, its length limit, or a cancel."""


class SamplingParams(msgspec.Struct, frozen=True, omit_defaults=True):
    """The request values that travel with it (claim C5.11, and those of the OpenAI API).

    ``max_tokens`` counts generated tokens. ``temperature`` 0 is greedy. ``top_k``
    of -1 or 0 and ``top_p`` of 1 mean off. With a ``seed`` the draw of each token
    depends on the seed and the token's index alone, so it does not change with
    batching; without one the scheduler chooses a seed.

    ``min_p`` drops the tokens less likely than that part of the likeliest one, after
    the temperature. A token that the answer has so far ``c > 0`` times loses
    ``presence_penalty + c * frequency_penalty`` of its score; those of the prompt do
    not count. ``logit_bias`` is added to the scores of its token ids. ``logprobs`` is
    None for none, 0 for those of the chosen tokens, k for the k likeliest as well.
    The texts of ``stop`` end the answer; they concern the detokenizer alone.
    """

    ignore_eos: bool = False
    max_tokens: int = 16
    temperature: float = 0.0
    top_k: int = -1
    top_p: float = 1.0
    seed: int | None = None
    min_p: float = 0.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    logit_bias: dict[int, float] = {}
    logprobs: int | None = None
    stop: tuple[str, ...] = ()


class Usage(msgspec.Struct, frozen=True):
    """Tokens of one request: prompt, generated, and prompt tokens found in the prefix cache."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
