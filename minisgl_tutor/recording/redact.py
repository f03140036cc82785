"""What is left of a request and of its tokens in a recording without texts: lengths, numbers, and the end."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

STAND_IN = "x"
PATHS = ("/v1/chat/completions", "/v1/completions")
WORDS = {"role", "type"}
"""Fields whose texts are words of the interface."""

KNOWN_WORDS = {"system", "user", "assistant", "tool", "developer", "text"}
FIELDS = {
    *("model", "messages", "prompt", "stop", "role", "content", "type", "text", "stream", "stream_options"),
    *("include_usage", "max_tokens", "max_completion_tokens", "temperature", "top_p", "top_k", "min_p", "n"),
    *("seed", "ignore_eos", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs"),
}
"""All other fields go, names included: the recorded server refused them or did not look at them."""


def redacted_body(body: str) -> str:
    """``body`` with each text in it as long as it was; as a whole, if it is not an object of JSON."""
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        return STAND_IN * len(body)
    try:
        return json.dumps(_redacted(fields, ""))
    except RecursionError:
        return STAND_IN * len(body)


def redacted_path(path: str) -> str:
    """``path``, if it is one of the interface's."""
    return path if path in PATHS else "/" + STAND_IN * (len(path) - 1)


def redacted_type(content_type: str) -> str:
    """Whether it is JSON; a client may write anything behind that, or instead of it."""
    name = content_type.partition(";")[0].strip().lower()
    is_json = name.startswith("application/") and name.removeprefix("application/").split("+")[-1] == "json"
    return "application/json" if is_json else STAND_IN * len(content_type)


def filler(eos: Collection[int]) -> int:
    """The token that stands for any other one: the first that does not end an answer."""
    return next(token for token in range(len(eos) + 1) if token not in eos)


def redacted_tokens(tokens: Sequence[int], eos: Collection[int]) -> list[int]:
    """Which rows got a token, and where an answer ends."""
    stand_in = filler(eos)
    return [token if token < 0 or token in eos else stand_in for token in tokens]


def _redacted(value: Any, field: str) -> Any:
    match value:
        case str():
            return value if field in WORDS and value in KNOWN_WORDS else STAND_IN * len(value)
        case dict():
            return {name: _redacted(part, name) for name, part in value.items() if name in FIELDS}
        case list():
            return [_redacted(part, field) for part in value]
        case bool() | None:
            return value
        case int() | float() if field not in ("prompt", "content", "text"):
            return value
    return 0
