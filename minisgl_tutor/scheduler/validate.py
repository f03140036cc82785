"""Which requests the scheduler refuses, and what it tells their senders."""

from __future__ import annotations

from dataclasses import dataclass

from ..engine.base import EngineInfo
from ..message import SamplingParams, UserMsg

MAX_LOGPROBS = 20
MAX_PENALTY = 2.0
MAX_BIAS = 100.0
MAX_TEMPERATURE = 1e6
"""Far above any use: at this, all tokens are equally likely."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a request: a sentence, a short name, and the request field at fault."""

    message: str
    code: str
    param: str | None = None


def length_limit(info: EngineInfo) -> int:
    """Tokens, prompt and output together, that one request can have: what a row and the KV pool hold."""
    return min(info.max_seq_len, info.num_pages * info.page_size)


def find_problem(msg: UserMsg, info: EngineInfo) -> Problem | None:
    """Why ``msg`` cannot be served, or None. ``max_tokens`` beyond the limit is no problem: it is cut."""
    params = msg.sampling_params
    return _prompt_problem(msg.input_ids, info) or _sampling_problem(params) or _wish_problem(params, info)


def _prompt_problem(prompt: list[int], info: EngineInfo) -> Problem | None:
    if not prompt:
        return Problem("The prompt is empty: it must have at least one token.", "empty_prompt")
    limit = length_limit(info)
    if len(prompt) >= limit:
        bound = "the context length" if limit == info.max_seq_len else "the KV cache"
        return Problem(
            f"The prompt has {len(prompt)} tokens, but {bound} of this server allows {limit} tokens for "
            "prompt and answer together. Shorten the prompt.",
            "context_length_exceeded",
        )
    if min(prompt) < 0 or max(prompt) >= info.vocab_size:
        return Problem(
            f"The prompt has a token id outside of the model's vocabulary (0 to {info.vocab_size - 1}).",
            "invalid_token_id",
        )
    return None


def _sampling_problem(params: SamplingParams) -> Problem | None:
    if params.max_tokens < 1:
        return Problem(
            f"max_tokens is {params.max_tokens}: it must be at least 1.", "invalid_value", "max_tokens"
        )
    if not 0 <= params.temperature <= MAX_TEMPERATURE:
        return Problem(
            f"temperature is {params.temperature}: it must be between 0 and {MAX_TEMPERATURE:g}.",
            "invalid_value",
            "temperature",
        )
    if not 0 < params.top_p <= 1:
        return Problem(
            f"top_p is {params.top_p}: it must be above 0 and at most 1.", "invalid_value", "top_p"
        )
    return None


def _wish_problem(params: SamplingParams, info: EngineInfo) -> Problem | None:
    """The bounds are those of the OpenAI API, where it has the field."""
    bounds: dict[str, tuple[float, float, float]] = {
        "min_p": (params.min_p, 0, 1),
        "presence_penalty": (params.presence_penalty, -MAX_PENALTY, MAX_PENALTY),
        "frequency_penalty": (params.frequency_penalty, -MAX_PENALTY, MAX_PENALTY),
        "logprobs": (params.logprobs or 0, 0, MAX_LOGPROBS),
    }
    for name, (value, low, high) in bounds.items():
        if not low <= value <= high:
            return Problem(
                f"{name} is {value}: it must be between {low:g} and {high:g}.", "invalid_value", name
            )
    for token, bias in params.logit_bias.items():
        if not 0 <= token < info.vocab_size:
            return Problem(
                f"logit_bias has the token id {token}, which is outside of the model's vocabulary "
                f"(0 to {info.vocab_size - 1}).",
                "invalid_token_id",
                "logit_bias",
            )
        if not -MAX_BIAS <= bias <= MAX_BIAS:
            return Problem(
                f"logit_bias of token {token} is {bias}: it must be between {-MAX_BIAS:g} and {MAX_BIAS:g}.",
                "invalid_value",
                "logit_bias",
            )
    return None
