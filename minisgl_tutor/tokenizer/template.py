"""A model's chat template: from a conversation to the text that the model was trained on (C2.51).

Templates are Jinja programs that come with a model, so they run in a sandbox. The
environment is the one that templates are written for, that of transformers:
the same trimming, extensions, filters and globals give the same text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, NoReturn

from jinja2 import Template, TemplateError, nodes
from jinja2.ext import Extension
from jinja2.ext import loopcontrols as LoopControls
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

Conversation = Sequence[Mapping[str, Any]]


class ChatTemplateError(ValueError):
    """The template cannot make a text of this conversation; the message says why."""


class ChatTemplate:
    """One template, which sees ``special_tokens`` as ``bos_token`` and the like. ``now`` is its clock."""

    def __init__(
        self, source: str, special_tokens: Mapping[str, str], now: Callable[[], datetime] = datetime.now
    ) -> None:
        self._source = source
        self._special_tokens = special_tokens
        self._now = now

    def render(self, messages: Conversation) -> str:
        """The conversation as text, up to where the assistant's answer begins.

        Raises:
            ChatTemplateError: the template is broken, or refuses these messages.
        """
        try:
            return self._template.render(
                messages=[without_nulls(message) for message in messages],
                tools=None,
                documents=None,
                add_generation_prompt=True,
                **self._special_tokens,
            )
        except Exception as error:
            # A template is a program by somebody else: whatever it raises is about these messages.
            message = f"the model's chat template does not accept these messages: {error}"
            raise ChatTemplateError(message) from error

    @cached_property
    def _template(self) -> Template:
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[LoopControls, GenerationBlocks]
        )
        environment.filters["tojson"] = to_json
        environment.globals["raise_exception"] = raise_exception
        environment.globals["strftime_now"] = lambda format: self._now().strftime(format)
        return environment.from_string(self._source)


class GenerationBlocks(Extension):
    """``{% generation %}`` marks the assistant's words for training; here it only encloses them."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def without_nulls(message: Mapping[str, Any]) -> dict[str, Any]:
    """Templates test whether a field is there; a client that sends ``null`` means that it is not."""
    return {name: value for name, value in message.items() if value is not None}


def to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Jinja's own filter would write ``<`` as an escape, for HTML."""
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def raise_exception(message: str) -> NoReturn:
    raise TemplateError(message)
