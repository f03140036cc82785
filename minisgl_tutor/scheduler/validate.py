"""Which requests the scheduler refuses, and what it tells their senders."""

from __future__ import annotations

from dataclasses import dataclass

from ..engine.base import EngineInfo
from ..message import SamplingParams, UserMsg

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
    return _prompt_problem(msg.input_ids, info) or _sampling_problem(msg.sampling_params)


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
