"""Holds what a client is told of its answer against what is known of it: why it ended, and how long it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ..gaps import claims_of
from ..language import Sentence
from .auditor import Finding
from .steps import Step
from .tracer import FRONT

OBJECTS = {"chat.completion", "chat.completion.chunk", "text_completion"}
"""What the OpenAI API calls an answer or a piece of one."""


class Choice(msgspec.Struct):
    index: int = 0
    finish_reason: str | None = None


class Count(msgspec.Struct):
    completion_tokens: int = 0


class Body(msgspec.Struct):
    """What is looked at of an answer, or of a piece of one."""

    choices: list[Choice]
    object: str = ""
    usage: Count | None = None


class WireAuditor:
    """Told of every step; finds what is sent to clients and is not so. Once for each request."""

    def __init__(self) -> None:
        self._ends: dict[int, dict[str, Any]] = {}
        self._reported: set[int] = set()

    def watch(self, step: Step) -> list[Finding]:
        """Takes note of a step; what a client is wrongly told by it."""
        if step.kind == "message" and step.target == FRONT:
            self._ends.update({each["uid"]: each for each in step.content if each.get("finished")})
        if step.kind != "client" or step.title != "chunk" or not step.uids:
            return []
        uid = step.uids[0]
        wrong = [note for body in _bodies(step.content[0]["text"]) for note in self._wrong(body, step.uids)]
        if not wrong or uid in self._reported:
            return []
        self._reported.add(uid)
        return [Finding(uid, FRONT, wrong[0], "reference-wire", claims_of("reference-wire"))]

    def _wrong(self, body: Body, uids: list[int]) -> Iterator[Sentence]:
        if body.object not in OBJECTS:
            yield Sentence(
                "the client gets an object of type {kind!r}, of which the OpenAI API knows nothing",
                kind=body.object,
            )
        for choice in body.choices:
            told, reason = choice.finish_reason, self._reason(uids, choice.index)
            if None not in (told, reason) and told != reason:
                yield Sentence(
                    "the client is told that its answer ended by {told!r}; it ended by {reason!r}",
                    told=told,
                    reason=reason,
                )
        counts = [self._ends[uid]["usage"] for uid in uids if self._ends.get(uid, {}).get("usage")]
        if body.usage is not None and len(counts) == len(uids):
            told_count, count = (
                body.usage.completion_tokens,
                sum(each["completion_tokens"] for each in counts),
            )
            if told_count != count:
                yield Sentence(
                    "the client is told that its answer has {told} tokens; it has {tokens}",
                    told=told_count,
                    tokens=count,
                )

    def _reason(self, uids: list[int], index: int) -> str | None:
        """Why the answer that is the request's choice ``index`` ended; null if that is not known."""
        known = self._ends.get(uids[index]) if 0 <= index < len(uids) else None
        return None if known is None else known.get("finish_reason")


def _bodies(text: str) -> Iterator[Body]:
    """The answers, or pieces of one, in what was sent: events, or one body."""
    for piece in text.split("\n\n"):
        try:
            body = msgspec.json.decode(piece.removeprefix("data: "), type=Body)
        except msgspec.MsgspecError:
            continue
        yield body
