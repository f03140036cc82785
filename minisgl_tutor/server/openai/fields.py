"""Fields of the OpenAI API that ask for something which this server does not do.

``docs/openai-fields.md`` lists every field and what becomes of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .failure import refused

HARMLESS = frozenset(
    {
        "metadata",
        "parallel_tool_calls",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "safety_identifier",
        "store",
        "user",
    }
)
"""They ask for nothing that an answer could show: any value is accepted and nothing is done with it."""

NEUTRAL: dict[str, tuple[Any, ...]] = {
    "audio": (),
    "best_of": (1,),
    "echo": (False,),
    "function_call": ("none", "auto"),
    "functions": ([],),
    "modalities": (["text"],),
    "moderation": (),
    "prediction": (),
    "reasoning_effort": ("none",),
    "response_format": ({"type": "text"},),
    "service_tier": ("auto", "default"),
    "suffix": ("",),
    "tool_choice": ("none", "auto"),
    "tools": ([],),
    "verbosity": ("medium",),
    "web_search_options": (),
}
"""What is not done here, and the values that do not ask for it. ``null`` asks for nothing anywhere."""


def refuse_what_is_not_done(given: Mapping[str, Any]) -> None:
    """Looks at the fields that the request model does not have. None of them is ``null``.

    Raises:
        RequestFailed: one asks for something that is not done here; the message names it.
    """
    for name, value in given.items():
        if name in HARMLESS or value in NEUTRAL.get(name, ()):
            continue
        if name in NEUTRAL:
            raise refused(f"'{name}' is not supported here; leave it out", name, "unsupported_parameter")
        shown = ascii(name[:60])
        raise refused(
            f"{shown} is no field of this interface; leave it out", shown[1:-1], "unknown_parameter"
        )
