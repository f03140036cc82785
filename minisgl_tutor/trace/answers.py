"""Holds each answer against what it should be: the text of its tokens, up to a stop string or to its limit.

What the components hold tells nothing of this: a wrong answer may leave everything clean.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..gaps import claims_of
from ..language import Sentence
from ..tokenizer.pieces import REPLACEMENT
from ..tokenizer.stop import StopFinder
from ..tokenizer.tokenizer import Tokenizer
from .auditor import Finding
from .steps import Step
from .tracer import FRONT


@dataclass
class Answer:
    """What has been seen of one answer: the messages with its tokens, and the replies made of them."""

    limit: int = 0
    prompt_len: int = 0
    stop: tuple[str, ...] = ()
    tokens: list[dict[str, Any]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)


class AnswerAuditor:
    """Told of every step; says of each answer, with its finished reply, what is wrong with it.

    ``max_len`` is the number of tokens that prompt and answer may have together.
    """

    def __init__(self, tokenizer: Tokenizer, max_len: int) -> None:
        self._tokenizer = tokenizer
        self._max_len = max_len
        self._answers: dict[int, Answer] = {}

    def watch(self, step: Step) -> list[Finding]:
        """Takes note of a step; what is wrong with an answer that ends by it."""
        findings = []
        for message in step.content if step.kind == "message" else ():
            findings += self._watch_message(message, step.target)
        return findings

    def _watch_message(self, message: dict[str, Any], target: str) -> list[Finding]:
        uid = message["uid"]
        match message["type"]:
            case "UserMsg":
                params = message["sampling_params"]
                room = self._max_len - len(message["input_ids"])
                limit = min(params.get("max_tokens", 16), room)
                self._answers[uid] = Answer(limit, len(message["input_ids"]), tuple(params.get("stop", ())))
            case "DetokenizeMsg" if uid in self._answers:
                self._answers[uid].tokens.append(message)
            case "ErrorReply":
                self._answers.pop(uid, None)
            case "UserReply" if uid in self._answers and target == FRONT:
                self._answers[uid].texts.append(message["incremental_output"])
                if message["finished"]:
                    return self._ended(uid, self._answers.pop(uid), message.get("finish_reason"))
        return []

    def _ended(self, uid: int, answer: Answer, reason: str | None) -> list[Finding]:
        # One reply for each token; those behind the last reply were made before anybody knew of the end.
        told = answer.tokens[: len(answer.texts)]
        if reason == "abort":
            return []
        findings = []
        if reason == "length" and len(told) < answer.limit:
            note = Sentence(
                "the answer ends by its length at token {token} of {limit}",
                token=len(told),
                limit=answer.limit,
            )
            findings.append(Finding(uid, "scheduler", note, "early-length", claims_of("early-length")))
        expected, text = self._text_of(told, answer.stop), "".join(answer.texts)
        if text != expected:
            note = Sentence(
                "the client is told {told}, and the tokens say {expected}",
                told=_end_of(text),
                expected=_end_of(expected),
            )
            gap = _known_difference(text, expected)
            findings.append(Finding(uid, "detokenizer", note, gap, claims_of(gap)))
        return findings

    def _text_of(self, told: list[dict[str, Any]], stop: tuple[str, ...]) -> str:
        """The right text: the token that ends an answer is no part of it, nor is a stop string."""
        tokens = [each.get("next_token") for each in told if each.get("finish_reason") != "stop"]
        text = self._tokenizer.decode([token for token in tokens if token is not None])
        if not stop:
            return text
        finder = StopFinder(stop)
        shown = finder.feed(text)
        return shown if finder.found else shown + finder.held


def _known_difference(text: str, expected: str) -> str:
    """The gap that makes ``text`` of what should be ``expected``; empty if none does."""
    if text.count(REPLACEMENT) > expected.count(REPLACEMENT):
        return "token-by-token"
    if text.startswith(expected):
        return "leaked-stop"
    return "lost-tail" if expected.startswith(text) else ""


def _end_of(text: str, length: int = 24) -> str:
    return repr(text if len(text) <= length else f"…{text[-length:]}")
