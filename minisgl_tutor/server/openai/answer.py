"""How answers look on the wire: chat completions and text completions, in pieces and whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ...message import FinishReason, TextLogprobs, Usage, UserReply
from .logprobs_form import ChatLogprobs, CompletionLogprobs


@dataclass(frozen=True)
class Completed:
    """A whole answer."""

    text: str
    finish_reason: FinishReason | None
    usage: Usage
    logprobs: tuple[TextLogprobs, ...] = ()


class Tally:
    """Adds up what the choices of one response have used. ``prompts`` says whose prompt each choice answers.

    Choices of the same prompt share it, so it counts once.
    """

    def __init__(self, prompts: Sequence[int] = (0,)) -> None:
        self._prompts = prompts
        self._usages: dict[int, Usage] = {}

    def add(self, choice: int, usage: Usage) -> None:
        self._usages[choice] = usage

    @property
    def complete(self) -> bool:
        return len(self._usages) == len(self._prompts)

    def total(self) -> Usage:
        firsts = [self._usages[self._prompts.index(prompt)] for prompt in set(self._prompts)]
        return Usage(
            sum(usage.prompt_tokens for usage in firsts),
            sum(usage.completion_tokens for usage in self._usages.values()),
            sum(usage.cached_tokens for usage in firsts),
        )


@dataclass
class ResponseForm:
    """How one choice of a response looks. Its pieces are to be asked for in their order.

    ``stamp`` is the unguessable part of the response's id and ``created`` its Unix
    time; ``index`` is the choice's. All choices of a response share its ``tally``.
    """

    stamp: str
    created: int
    model: str
    chat: bool
    include_usage: bool = False
    index: int = 0
    tally: Tally = field(default_factory=Tally)

    def __post_init__(self) -> None:
        self._logprobs = ChatLogprobs() if self.chat else CompletionLogprobs()
        self._chunk_head = self._head(streaming=True)

    def chunk(self, text: str, first: bool, logprobs: Sequence[TextLogprobs] = ()) -> dict[str, Any]:
        """A piece of the answer. The first of a chat has the role as well (C5.92 to C5.94)."""
        return self._chunk(self._piece(text, first), None, logprobs)

    def ending(self, last: UserReply) -> list[dict[str, Any]]:
        """What comes behind the last text: why it ended (C5.96).

        Behind the last choice come, on request, the token counts of them all.
        """
        end = self._chunk({"delta": {}} if self.chat else {"text": ""}, last.finish_reason)
        self.tally.add(self.index, last.usage or Usage())
        if not self.include_usage or not self.tally.complete:
            return [end]
        return [end, {**self._chunk_head, "choices": [], "usage": _usage(self.tally.total())}]

    def choice(self, answer: Completed) -> dict[str, Any]:
        """The whole choice."""
        message = {"role": "assistant", "content": answer.text}
        return {
            "index": self.index,
            **({"message": message} if self.chat else {"text": answer.text}),
            "finish_reason": answer.finish_reason,
            "logprobs": self._logprobs.shown(answer.logprobs),
        }

    def whole(self, choices: list[dict[str, Any]], usage: Usage) -> dict[str, Any]:
        """The response in one piece."""
        return {**self._head(streaming=False), "choices": choices, "usage": _usage(usage)}

    def _piece(self, text: str, first: bool) -> dict[str, Any]:
        if not self.chat:
            return {"text": text}
        delta = {"role": "assistant"} if first else {}
        return {"delta": {**delta, "content": text} if text else delta}

    def _chunk(
        self, piece: dict[str, Any], reason: FinishReason | None, logprobs: Sequence[TextLogprobs] = ()
    ) -> dict[str, Any]:
        choice = {
            "index": self.index,
            **piece,
            "finish_reason": reason,
            "logprobs": self._logprobs.shown(logprobs),
        }
        no_usage_yet = {"usage": None} if self.include_usage else {}
        return {**self._chunk_head, "choices": [choice], **no_usage_yet}

    def _head(self, streaming: bool) -> dict[str, Any]:
        kind = "chat.completion" if self.chat else "text_completion"
        return {
            "id": f"{'chatcmpl' if self.chat else 'cmpl'}-{self.stamp}",
            "object": f"{kind}.chunk" if streaming and self.chat else kind,
            "created": self.created,
            "model": self.model,
        }


def whole_response(forms: Sequence[ResponseForm], answers: Sequence[Completed]) -> dict[str, Any]:
    """The response whose choices are ``answers``, each in its form."""
    for form, answer in zip(forms, answers, strict=True):
        form.tally.add(form.index, answer.usage)
    choices = [form.choice(answer) for form, answer in zip(forms, answers, strict=True)]
    return forms[0].whole(choices, forms[0].tally.total())


def to_json(body: dict[str, Any]) -> bytes:
    return msgspec.json.encode(body)


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }
