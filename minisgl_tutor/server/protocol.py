"""The OpenAI-style request and response bodies (claims part C).

Being callable by OpenAI clients is the aim; covering the whole protocol is not.
A parameter that is not honoured is refused by name rather than ignored.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

from ..message import ErrorReply, FinishReason, SamplingParams, Usage, UserReply

MAX_TOKENS_LIMIT = 2**31 - 1

NEUTRAL_VALUES: dict[str, tuple[Any, ...]] = {
    "n": (None, 1),
    "stop": (None, [], ""),
    "frequency_penalty": (None, 0),
    "presence_penalty": (None, 0),
    "logit_bias": (None, {}),
    "logprobs": (None, False, 0),
    "top_logprobs": (None, 0),
    "tools": (None, []),
    "functions": (None, []),
    "response_format": (None, {"type": "text"}),
    "echo": (None, False),
    "best_of": (None, 1),
    "suffix": (None, ""),
    "min_p": (None, 0),
}
"""Values that ask for nothing, of parameters that this server does not implement."""


class RequestFailed(Exception):
    """A request ended with an error reply instead of an answer."""

    def __init__(self, reply: ErrorReply) -> None:
        super().__init__(reply.message)
        self.reply = reply


def _characters(value: str) -> str:
    # JSON can name half of a surrogate pair, which no encoding can carry on.
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"the text has a lone surrogate at {error.start}, which is no character") from None
    return value


Characters = Annotated[str, AfterValidator(_characters)]


class Message(BaseModel):
    """One entry of a conversation (C5.27)."""

    role: Characters
    content: Characters


class StreamOptions(BaseModel):
    include_usage: bool = False


class OpenAICompletionRequest(BaseModel):
    """Body of ``/v1/chat/completions`` and ``/v1/completions`` (C5.20 to C5.26).

    ``model`` is the name that the client would like; the model loaded at start
    answers whatever it says (C5.44). Without a temperature the answer is greedy.
    ``max_completion_tokens`` is the newer name of ``max_tokens`` and wins over it.
    """

    model_config = ConfigDict(extra="allow")

    model: str
    prompt: Characters | None = None
    messages: list[Message] | None = None
    max_tokens: Annotated[int, Field(ge=1, le=MAX_TOKENS_LIMIT)] = 16
    max_completion_tokens: Annotated[int, Field(ge=1, le=MAX_TOKENS_LIMIT)] | None = None
    stream: bool = False
    stream_options: StreamOptions | None = None
    temperature: Annotated[float, Field(ge=0, le=100)] = 0.0
    top_k: Annotated[int, Field(ge=-1, le=MAX_TOKENS_LIMIT)] = -1
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    ignore_eos: bool = False
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = None

    @field_validator("temperature", "top_p")
    @classmethod
    def _finite(cls, value: float) -> float:
        # A range check alone lets NaN through: every comparison with it is false.
        if not math.isfinite(value):
            raise ValueError("must be a finite number")
        return value

    def unsupported(self) -> Iterator[str]:
        """Names of the parameters that ask for something this server does not do."""
        for name, value in (self.model_extra or {}).items():
            if name in NEUTRAL_VALUES and value not in NEUTRAL_VALUES[name]:
                yield name

    def text(self) -> str | list[dict[str, str]] | None:
        """The input: a non-empty conversation, else the prompt (C5.34)."""
        if self.messages:
            return [message.model_dump() for message in self.messages]
        return self.prompt

    def sampling_params(self) -> SamplingParams:
        return SamplingParams(
            ignore_eos=self.ignore_eos,
            max_tokens=self.max_completion_tokens or self.max_tokens,
            temperature=self.temperature,
            top_k=self.top_k if self.top_k > 0 else -1,
            top_p=self.top_p,
            seed=self.seed,
        )


@dataclass(frozen=True)
class Completed:
    """A whole answer."""

    text: str
    finish_reason: FinishReason | None
    usage: Usage


@dataclass(frozen=True)
class ResponseForm:
    """How one answer looks on the wire: a chat completion or a text completion.

    ``stamp`` is the unguessable part of its id and ``created`` its Unix time.
    """

    stamp: str
    created: int
    model: str
    chat: bool
    include_usage: bool = False

    def chunk(self, text: str, first: bool) -> dict[str, Any]:
        """A piece of the answer. The first of a chat has the role as well (C5.92 to C5.94)."""
        return self._chunk(self._piece(text, first), None)

    def ending(self, last: UserReply) -> list[dict[str, Any]]:
        """What comes behind the last text: why it ended (C5.96) and, on request, the token counts."""
        end = self._chunk({"delta": {}} if self.chat else {"text": ""}, last.finish_reason)
        if not self.include_usage:
            return [end]
        usage = _usage(last.usage or Usage())
        return [end, {**self._head(streaming=True), "choices": [], "usage": usage}]

    def whole(self, answer: Completed) -> dict[str, Any]:
        """The answer in one piece."""
        content = (
            {"message": {"role": "assistant", "content": answer.text}} if self.chat else {"text": answer.text}
        )
        choice = {"index": 0, **content, "finish_reason": answer.finish_reason, "logprobs": None}
        return {**self._head(streaming=False), "choices": [choice], "usage": _usage(answer.usage)}

    def _piece(self, text: str, first: bool) -> dict[str, Any]:
        if not self.chat:
            return {"text": text}
        delta = {"role": "assistant"} if first else {}
        return {"delta": {**delta, "content": text} if text else delta}

    def _chunk(self, piece: dict[str, Any], reason: FinishReason | None) -> dict[str, Any]:
        choice = {"index": 0, **piece, "finish_reason": reason, "logprobs": None}
        return {**self._head(streaming=True), "choices": [choice]}

    def _head(self, streaming: bool) -> dict[str, Any]:
        kind = "chat.completion" if self.chat else "text_completion"
        return {
            "id": f"{'chatcmpl' if self.chat else 'cmpl'}-{self.stamp}",
            "object": f"{kind}.chunk" if streaming and self.chat else kind,
            "created": self.created,
            "model": self.model,
        }


def error_body(reply: ErrorReply) -> dict[str, Any]:
    """The OpenAI error envelope."""
    kind = "invalid_request_error" if reply.status < 500 else "server_error"
    return {"error": {"message": reply.message, "type": kind, "param": reply.param, "code": reply.code}}


def to_json(body: dict[str, Any]) -> bytes:
    return msgspec.json.encode(body)


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }
