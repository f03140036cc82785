"""The bodies of requests: what a client may say, and what it then asks for (C5.19 to C5.35).

A field that is accepted is honoured. One that would not be is refused by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from ...message import SamplingParams
from .conversation import Characters, Message, check_characters, without_nulls
from .failure import refused
from .fields import refuse_what_is_not_done

MOST_TOKENS = 2**31 - 1
"""A limit that no answer reaches: as many tokens as fit behind the prompt."""

MOST_CHOICES = 128
MOST_STOP_STRINGS = 16
LONGEST_STOP_STRING = 512

Prompt = str | list[dict[str, Any]]


def _whole_prompt(prompt: Any) -> Any:
    texts = prompt if isinstance(prompt, list) else [prompt]
    if not texts:
        raise ValueError("is an empty list; give at least one text")
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("must be a text or a list of texts; token ids are not supported")
    for text in texts:
        check_characters(text)
    return prompt


def _stop_strings(stop: Any) -> Any:
    strings = [stop] if isinstance(stop, str) else stop
    if not isinstance(strings, list) or not all(isinstance(text, str) for text in strings):
        raise ValueError("must be a text or a list of texts")
    if len(strings) > MOST_STOP_STRINGS:
        raise ValueError(f"may have {MOST_STOP_STRINGS} texts at most")
    for text in strings:
        if not text:
            raise ValueError("has an empty text, which is everywhere; leave it out")
        if len(text) > LONGEST_STOP_STRING:
            raise ValueError(f"has a text of more than {LONGEST_STOP_STRING} characters")
        check_characters(text)
    return strings


Limit = Annotated[int, Field(ge=1), AfterValidator(lambda limit: min(limit, MOST_TOKENS))]
Number = Annotated[float, Field(allow_inf_nan=False)]


class StreamOptions(BaseModel):
    """``include_usage``: a last chunk without choices tells the token counts."""

    model_config = ConfigDict(extra="allow")

    include_usage: bool = False

    @model_validator(mode="after")
    def _nothing_else(self) -> StreamOptions:
        for name, value in (self.model_extra or {}).items():
            if value not in (None, False):
                raise ValueError(f"{name[:60]!a} is not supported; leave it out")
        return self


@dataclass(frozen=True)
class Ask:
    """One answer that is asked for: to what, and how it is drawn. ``prompt_index`` numbers the prompts."""

    prompt_index: int
    prompt: Prompt
    sampling_params: SamplingParams


class CompletionBody(BaseModel):
    """What both interfaces have. ``null`` in any field is the same as no field.

    Without a temperature the answer is greedy. ``max_tokens`` is an upper bound: one
    beyond what fits behind the prompt is no fault. With a ``seed``, choice ``i`` of
    a prompt is drawn with ``seed + i``.
    """

    model_config = ConfigDict(extra="allow")

    model: Characters
    max_tokens: Limit = 16
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: Annotated[int, Field(ge=1, le=MOST_CHOICES)] = 1
    stop: Annotated[list[str], BeforeValidator(_stop_strings)] = []
    temperature: Annotated[Number, Field(ge=0, le=100)] = 0.0
    top_k: Annotated[int, Field(ge=-1, le=MOST_TOKENS)] = -1
    top_p: Annotated[Number, Field(gt=0, le=1)] = 1.0
    min_p: Annotated[Number, Field(ge=0, le=1)] = 0.0
    presence_penalty: Annotated[Number, Field(ge=-2, le=2)] = 0.0
    frequency_penalty: Annotated[Number, Field(ge=-2, le=2)] = 0.0
    logit_bias: Annotated[
        dict[Annotated[int, Field(ge=0, le=MOST_TOKENS)], Annotated[Number, Field(ge=-100, le=100)]],
        Field(max_length=1024),
    ] = {}
    ignore_eos: bool = False
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, body: Any) -> Any:
        return without_nulls(body)

    @property
    def include_usage(self) -> bool:
        return self.stream_options is not None and self.stream_options.include_usage

    def asks(self) -> list[Ask]:
        """The answers that are asked for, in the order of their choices: ``n`` for each prompt.

        Raises:
            RequestFailed: something is asked for that is not done here; or nothing is.
        """
        refuse_what_is_not_done(self.model_extra or {})
        if self.stream_options is not None and not self.stream:
            raise refused("'stream_options' goes with 'stream' alone", "stream_options", "invalid_value")
        prompts = self.prompts()
        if len(prompts) * self.n > MOST_CHOICES:
            raise refused(f"more than {MOST_CHOICES} choices are asked for", "n", "invalid_value")
        params = self.sampling_params()
        return [
            Ask(place, prompt, params if self.seed is None else _with_seed(params, self.seed + choice))
            for place, prompt in enumerate(prompts)
            for choice in range(self.n)
        ]

    def prompts(self) -> Sequence[Prompt]:
        """What is to be answered."""
        raise NotImplementedError

    def token_limit(self) -> int:
        return self.max_tokens

    def logprobs_asked(self) -> int | None:
        """How many of the likeliest tokens are asked for with each token; None if no logprobs are."""
        raise NotImplementedError

    def sampling_params(self) -> SamplingParams:
        return SamplingParams(
            ignore_eos=self.ignore_eos,
            max_tokens=self.token_limit(),
            temperature=self.temperature,
            top_k=self.top_k if self.top_k > 0 else -1,
            top_p=self.top_p,
            seed=self.seed,
            min_p=self.min_p,
            presence_penalty=self.presence_penalty,
            frequency_penalty=self.frequency_penalty,
            logit_bias=self.logit_bias,
            logprobs=self.logprobs_asked(),
            stop=tuple(self.stop),
        )


class OpenAICompletionRequest(CompletionBody):
    """Body of ``/v1/chat/completions`` (C5.20 to C5.26).

    A ``prompt`` in the place of ``messages`` is taken as it is, without a template
    (C5.34). ``max_completion_tokens`` is the newer name of ``max_tokens`` and wins
    over it; without either an answer may be as long as fits behind the conversation.
    """

    prompt: Characters | None = None
    messages: list[Message] | None = None
    max_completion_tokens: Limit | None = None
    logprobs: bool = False
    top_logprobs: Annotated[int, Field(ge=0, le=20)] = 0

    def prompts(self) -> Sequence[Prompt]:
        if self.messages:
            return [[message.for_template() for message in self.messages]]
        if self.prompt is None:
            raise refused(
                "either 'messages' or 'prompt' must be given", "messages", "missing_required_parameter"
            )
        return [self.prompt]

    def token_limit(self) -> int:
        given = self.max_tokens if "max_tokens" in self.model_fields_set else MOST_TOKENS
        return self.max_completion_tokens or given

    def logprobs_asked(self) -> int | None:
        if self.top_logprobs and not self.logprobs:
            raise refused("'top_logprobs' goes with 'logprobs': true alone", "top_logprobs", "invalid_value")
        return self.top_logprobs if self.logprobs else None


class TextCompletionRequest(CompletionBody):
    """Body of ``/v1/completions``. Several prompts are answered side by side."""

    prompt: Annotated[str | list[str], BeforeValidator(_whole_prompt)]
    logprobs: Annotated[int, Field(ge=0, le=20)] | None = None

    def prompts(self) -> Sequence[Prompt]:
        return [self.prompt] if isinstance(self.prompt, str) else self.prompt

    def logprobs_asked(self) -> int | None:
        return self.logprobs


def _with_seed(params: SamplingParams, seed: int) -> SamplingParams:
    return msgspec.structs.replace(params, seed=seed)
