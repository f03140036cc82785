"""One answer as its client sees it: the server-sent events that it is made of, and when each came."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import msgspec

from ..language import Sentence, sentence_of
from .asks import Ask

LONGEST_REASON = 120

KINDS = (
    Sentence("no connection"),
    Sentence("disconnected"),
    Sentence("not HTTP"),
    Sentence("not the OpenAI protocol"),
    Sentence("error event"),
    Sentence("broken off"),
    Sentence("timeout"),
)
"""How asking fails, besides by a status of HTTP."""


class RequestFailed(Exception):
    """An answer did not come, or not to its end. ``kind`` is for counting, the message for reading.

    The kind is one of ``KINDS``, or names a status of HTTP. What a server says is cut if it is long.
    """

    def __init__(self, kind: str, message: str | Sentence = "") -> None:
        said = Sentence(message) if isinstance(message, str) else message
        cut = " ".join(str(said).split())[:LONGEST_REASON]
        super().__init__(said if cut == str(said) else Sentence(cut))
        self.kind = kind

    @property
    def told(self) -> Sentence:
        """Its kind, and what it says beyond that."""
        kind = Sentence(self.kind)
        if not str(self):
            return kind
        return Sentence("{kind}: {reason}", kind=kind, reason=sentence_of(self))


class EventReader:
    """Cuts a body that comes in pieces of any size into the data of its events."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, piece: bytes) -> list[bytes]:
        """The data of each event that ``piece`` completes; comments and other fields are left out."""
        text = self._rest + piece
        if b"\r" in text:
            # A carriage return at the end waits for the line feed that may follow.
            held = b"\r" if text.endswith(b"\r") else b""
            text = text.removesuffix(b"\r").replace(b"\r\n", b"\n") + held
        *events, self._rest = text.split(b"\n\n")
        return [data for event in events if (data := _data_of(event))]


def _data_of(event: bytes) -> bytes:
    if event.startswith(b"data:") and b"\n" not in event:
        return event[5:].strip()
    lines = [line[5:].strip() for line in event.split(b"\n") if line.startswith(b"data:")]
    return b"\n".join(lines)


class Delta(msgspec.Struct):
    content: str | None = None
    reasoning_content: str | None = None


class Choice(msgspec.Struct):
    text: str | None = None
    delta: Delta | None = None
    finish_reason: str | None = None


class Counts(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Event(msgspec.Struct):
    """What is looked at in a chunk of either kind of completion."""

    choices: list[Choice] = []
    usage: Counts | None = None
    error: Any = None

    @property
    def has_text(self) -> bool:
        return any(
            choice.text or (choice.delta and (choice.delta.content or choice.delta.reasoning_content))
            for choice in self.choices
        )


_decoder = msgspec.json.Decoder(Event)


@dataclass
class Answer:
    """All about one request. Times are seconds from the start of the run.

    ``chunk_times`` has one entry for each event with text. ``usage`` is what the
    server says that it counted. ``failure`` is ``None`` if the answer is whole.
    """

    ask: Ask
    sent_s: float
    end_s: float = 0.0
    chunk_times: array[float] = field(default_factory=lambda: array("d"))
    usage: Counts | None = None
    finish_reason: str | None = None
    done: bool = False
    failure: RequestFailed | None = None

    @property
    def tokens(self) -> int:
        """By the server's count, or else one a chunk."""
        return self.usage.completion_tokens if self.usage else len(self.chunk_times)

    @property
    def late_s(self) -> float:
        """How long after it was due it was sent."""
        return self.sent_s - self.ask.due_s

    @property
    def first_s(self) -> float | None:
        """From sending to the first text."""
        return self.chunk_times[0] - self.sent_s if self.chunk_times else None

    @property
    def whole_s(self) -> float:
        """From sending to the end of the answer."""
        return self.end_s - self.sent_s

    @property
    def per_token_s(self) -> float | None:
        """From the first text to the last, by token behind the first; ``None`` if all came at once."""
        if self.tokens < 2 or len(self.chunk_times) < 2:
            return None
        return (self.chunk_times[-1] - self.chunk_times[0]) / (self.tokens - 1)

    @property
    def gaps_s(self) -> list[float]:
        """Between one text and the next."""
        return [after - before for before, after in pairwise(self.chunk_times)]

    @property
    def is_short(self) -> bool:
        """It is whole, but has fewer tokens than it must have."""
        return self.failure is None and self.ask.tokens is not None and self.tokens < self.ask.tokens

    def take(self, data: bytes, now_s: float) -> bool:
        """Takes an event in; whether it has text.

        Raises:
            RequestFailed: it says so, or is none of this protocol.
        """
        if data == b"[DONE]":
            self.done = True
            return False
        try:
            event = _decoder.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise RequestFailed("not the OpenAI protocol", str(error)) from None
        if event.error is not None:
            raise RequestFailed("error event", _message_of(event.error))
        if event.usage is not None:
            self.usage = event.usage
        for choice in event.choices:
            self.finish_reason = choice.finish_reason or self.finish_reason
        if event.has_text:
            self.chunk_times.append(now_s)
            return True
        return False

    def close(self) -> None:
        """The body has ended.

        Raises:
            RequestFailed: it was not the end of the answer.
        """
        if self.finish_reason is None and not self.done:
            raise RequestFailed(
                "broken off", Sentence("the answer ended without a finish_reason and without [DONE]")
            )


def error_message(body: bytes) -> str:
    """What a refusal says: the message of the protocol's envelope, or the text as it is."""
    try:
        return _message_of(msgspec.json.decode(body)["error"])
    except (msgspec.DecodeError, UnicodeDecodeError, LookupError, TypeError):
        return body.decode(errors="replace")


def _message_of(error: Any) -> str:
    return str(error["message"]) if isinstance(error, dict) and "message" in error else str(error)
