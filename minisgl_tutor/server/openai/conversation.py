"""The messages of a conversation, as clients send them (C5.27, K5.15 to K5.17)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, model_validator

ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "tool"}
"""The roles of the API, and what a chat template knows them as."""

FOR_THE_TEMPLATE = ("name", "tool_call_id", "tool_calls")
"""What else a message may have. It goes to the chat template as it is, which may look at it or not."""


def check_characters(value: str) -> str:
    """JSON can name half of a surrogate pair, which no encoding can carry on."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"the text has a lone surrogate at {error.start}, which is no character") from None
    return value


def check_encodable(name: str, value: Any) -> None:
    """On its way to the template a value is part of a message, which JSON may go beyond."""
    try:
        msgspec.msgpack.encode(value)
    except (ValueError, OverflowError, RecursionError) as error:
        raise ValueError(f"{name!a} cannot be passed on: {error}") from None


Characters = Annotated[str, AfterValidator(check_characters)]


def without_nulls(body: Any) -> Any:
    """``null`` says the same as leaving the field out."""
    if isinstance(body, Mapping):
        return {name: value for name, value in body.items() if value is not None}
    return body


def _text_of(content: Any) -> Any:
    """The text of a content that may come in parts; they are joined as they are, with nothing in between."""
    if not isinstance(content, list):
        return content
    if not content:
        raise ValueError("has no parts; give it a text")
    return "".join(_text_of_part(place, part) for place, part in enumerate(content))


def _text_of_part(place: int, part: Any) -> str:
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind == "text" and isinstance(part.get("text"), str):
        return str(part["text"])
    if isinstance(kind, str) and kind != "text":
        raise ValueError(f"part {place} is {kind[:40]!a}; this model reads text alone")
    raise ValueError(f'part {place} is not of the form {{"type": "text", "text": "..."}}')


def _known_role(role: str) -> str:
    if role not in ROLES:
        raise ValueError(f"no such role; the roles are {', '.join(ROLES)}")
    return role


class Message(BaseModel):
    """One entry of a conversation. Its content may come as a list of text parts."""

    model_config = ConfigDict(extra="allow")

    role: Annotated[Characters, AfterValidator(_known_role)]
    content: Annotated[Characters, BeforeValidator(_text_of)]

    @model_validator(mode="before")
    @classmethod
    def _normal(cls, message: Any) -> Any:
        given = without_nulls(message)
        if isinstance(given, dict) and given.get("role") == "assistant":
            given.setdefault("content", "")  # a turn of tool calls alone says nothing
        return given

    @model_validator(mode="after")
    def _nothing_else(self) -> Message:
        for name, value in (self.model_extra or {}).items():
            if name in FOR_THE_TEMPLATE:
                check_encodable(name, value)
            elif value not in ("", [], {}):
                raise ValueError(f"{name[:60]!a} is not supported in a message; leave it out")
        return self

    def for_template(self) -> dict[str, Any]:
        return {
            **{name: value for name, value in self.model_dump().items() if value not in ([], {})},
            "role": ROLES[self.role],
            "content": self.content,
        }
