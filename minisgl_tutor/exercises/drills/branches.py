"""Chapter 5, exercise 2: what of a body goes where in the handler (C5.11, C5.34, C5.86, C5.110, K5.19)."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from ...message import TokenizeMsg
from ...server.openai.request_model import MOST_TOKENS
from ..drill import NEVER_ENDS, Drill, Found, Reader, Say, in_virtual_time
from ..reader_file import the_function
from ..wire import Raised
from .events import events
from .front import PATIENCE_S, reply
from .route import Route, failed, failure

NOT_SENT, SENT_TWICE, TEXT, LIMIT, SAMPLING = "not-sent", "sent-twice", "text", "limit", "sampling"
MEDIA_TYPE, BODY, GATHERED = "media-type", "body", "gathered"

STEP_US = 100_000
LATE_US = 50_000
WHEN_ABSENT = (16, MOST_TOKENS)
"""The request model's default, and what the server itself makes of a conversation without a limit."""

Turns = tuple[tuple[str, str], ...]


class Case(msgspec.Struct, frozen=True):
    """A body, and the texts of the replies. What is null, or no turns at all, is not in it."""

    check: str
    messages: Turns | None = None
    prompt: str | None = None
    max_tokens: int | None = None
    stream: bool | None = None
    sampling: dict[str, float | int | bool] = {}
    replies: tuple[str, ...] = ("One", " two", " three")

    @property
    def body(self) -> bytes:
        turns = self.messages
        messages = None if turns is None else [{"role": role, "content": text} for role, text in turns]
        fields: dict[str, Any] = {
            "messages": messages,
            "prompt": self.prompt,
            "max_tokens": self.max_tokens,
            "stream": self.stream,
        }
        given = {name: value for name, value in fields.items() if value is not None}
        return json.dumps({"model": "m", **given, **self.sampling}, ensure_ascii=False).encode()

    @property
    def text(self) -> str | list[dict[str, str]]:
        """What must be sent."""
        if self.messages:
            return [{"role": role, "content": text} for role, text in self.messages]
        return self.prompt or ""


class Seen(msgspec.Struct):
    """What was sent for the request, and what its client got: pieces with the time of each."""

    sent: list[TokenizeMsg] = []
    status: int | None = None
    media_type: str = ""
    pieces: list[tuple[int, bytes]] = []
    ended: bool = False
    failed: Raised | None = None


class BranchesDrill(Drill[Case, Case, Seen]):
    """Posts bodies to the reader's ``v1_completions``."""

    job_type = Case
    seen_type = Seen
    checks = (
        "one-message",
        "several-turns",
        "prompt",
        "empty-messages",
        "both",
        "limit",
        "no-limit",
        "sampling",
        "whole",
        "streamed",
        "at-random",
    )
    faults = (NOT_SENT, SENT_TWICE, TEXT, LIMIT, SAMPLING, MEDIA_TYPE, NEVER_ENDS, BODY, GATHERED)

    def find(self, module: ModuleType, file: str) -> Callable[..., Any]:
        return the_function(module, "v1_completions", file)

    def cases(self, rng: random.Random) -> Sequence[Case]:
        ask = (("user", "What is a token?"),)
        sampling = {"temperature": 0.7, "top_k": 5, "top_p": 0.9, "ignore_eos": True}
        fixed = [
            Case("one-message", ask, max_tokens=3, stream=False),
            Case("one-message", ask, max_tokens=3, stream=True),
            Case("several-turns", TURNS, max_tokens=3, stream=True),
            Case("prompt", prompt="从前有座山，", max_tokens=3),
            Case("empty-messages", (), "Once upon a time", 3),
            Case("both", ask, "Once upon a time", 3),
            Case("limit", ask, max_tokens=7, stream=True),
            Case("limit", ask, max_tokens=300, stream=False),
            Case("no-limit", ask, stream=True),
            Case("no-limit", prompt="Once", stream=False),
            Case("sampling", ask, max_tokens=3, stream=True, sampling=sampling),
            *(Case("sampling", ask, max_tokens=3, sampling={name: each}) for name, each in sampling.items()),
            Case("whole", ask, max_tokens=3, stream=False, replies=("推", "", "理\n\n")),
            Case("whole", ask, max_tokens=3),
            Case("streamed", ask, max_tokens=3, stream=True, replies=("推", "", "理\n\n")),
        ]
        return [*fixed, *(_random_case(rng) for _ in range(16))]

    def play(self, reader: Reader, job: Case) -> Seen:
        return in_virtual_time(lambda: _play(reader.found, job, reader.path))

    def judge(self, case: Case, seen: Seen) -> Iterator[Found]:
        if seen.failed is not None:
            yield failed(seen.failed)
            return
        if not seen.sent:
            yield Found(NOT_SENT, {"got": _answer(seen)})
            return
        if len(seen.sent) > 1:
            yield Found(SENT_TWICE, {"count": len(seen.sent)})
        yield from _message(case, seen.sent[0])
        yield from _streamed(case, seen) if case.stream else _whole(case, seen)

    def check_of(self, case: Case, fault: str) -> str:
        return case.check

    def in_words(self, case: Case, say: Say) -> str:
        return say(
            "request", body=case.body.decode(), replies=", ".join(f'"{text}"' for text in case.replies)
        )

    def size(self, case: Case) -> tuple[int, ...]:
        return (len(case.body) + sum(map(len, case.replies)),)

    def smaller(self, case: Case) -> Iterator[Case]:
        for name in case.sampling:
            rest = {each: value for each, value in case.sampling.items() if each != name}
            yield msgspec.structs.replace(case, sampling=rest)


def _message(case: Case, msg: TokenizeMsg) -> Iterator[Found]:
    text = msg.text
    if isinstance(text, list):
        text = [{name: turn.get(name) for name in ("role", "content")} for turn in text]
    if text != case.text:
        yield Found(TEXT, {"due": _cut(case.text), "got": _cut(msg.text)})
    params = msg.sampling_params
    due = WHEN_ABSENT if case.max_tokens is None else (case.max_tokens,)
    if params.max_tokens not in due:
        yield Found(LIMIT, {"due": due[0], "got": params.max_tokens})
    absent = {"temperature": 0.0, "top_k": -1, "top_p": 1.0, "ignore_eos": False}
    for name, value in {**absent, **case.sampling}.items():
        if getattr(params, name) != value:
            yield Found(SAMPLING, {"name": name, "due": value, "got": getattr(params, name)})


def _whole(case: Case, seen: Seen) -> Iterator[Found]:
    if not seen.media_type.startswith("application/json"):
        yield Found(MEDIA_TYPE, {"due": "application/json", "got": seen.media_type or "-"})
        return
    if not seen.ended:
        yield Found(NEVER_ENDS, {"what": "answer", "got": _answer(seen)})
        return
    try:
        got = json.loads(_body(seen))["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError):
        got = None
    if seen.status != 200 or got != "".join(case.replies):
        yield Found(BODY, {"what": "whole", "due": repr("".join(case.replies)), "got": _answer(seen)})


def _streamed(case: Case, seen: Seen) -> Iterator[Found]:
    if not seen.media_type.startswith("text/event-stream"):
        yield Found(MEDIA_TYPE, {"due": "text/event-stream", "got": seen.media_type or "-"})
        return
    if not seen.ended:
        yield Found(NEVER_ENDS, {"what": "answer", "got": _answer(seen)})
        return
    texts: list[tuple[int, str]] = []
    came, _ = events(seen.pieces)
    for each in came:
        with suppress(ValueError, LookupError, TypeError):
            content = json.loads(each.data)["choices"][0]["delta"].get("content")
            texts.append((each.at_us, content or ""))
    whole = "".join(text for _, text in texts)
    if seen.status != 200 or whole != "".join(case.replies) or came[-1].data != "[DONE]":
        yield Found(BODY, {"what": "streamed", "due": repr("".join(case.replies)), "got": _answer(seen)})
        return
    for place in range(len(case.replies)):
        so_far = "".join(case.replies[: place + 1])
        late_us = _when(texts, so_far) - STEP_US * (place + 1)
        if late_us > LATE_US:
            yield Found(GATHERED, {"number": place + 1, "ms": late_us // 1000})
            return


def _when(texts: list[tuple[int, str]], so_far: str) -> int:
    """When as much of the text as that had come."""
    joined = ""
    for at_us, text in texts:
        joined += text
        if len(joined) >= len(so_far):
            return at_us
    return 0


def _body(seen: Seen) -> bytes:
    return b"".join(piece for _, piece in seen.pieces)


def _answer(seen: Seen) -> str:
    """What the client got, in a line."""
    if seen.status is None:
        return "-"
    return f"{seen.status}, {seen.media_type or '-'}, {_body(seen)[:160].decode(errors='replace')!r}"


def _cut(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return repr(text[:160]) if isinstance(value, str) else text[:160]


async def _play(handler: Callable[..., Any], case: Case, file: Path | None) -> Seen:
    route = Route("/v1/chat/completions", handler)
    seen = Seen()

    async def answer() -> None:
        async for msg in route.sent():
            if isinstance(msg, TokenizeMsg):
                seen.sent.append(msg)
                replying.append(asyncio.create_task(give(msg.uid), name="backend"))

    async def give(uid: int) -> None:
        for place, text in enumerate(case.replies):
            await asyncio.sleep(STEP_US / 1e6)
            route.reply([reply(uid, text, place == len(case.replies) - 1)])

    replying: list[asyncio.Task[None]] = []
    backend = asyncio.create_task(answer(), name="tokenizer")
    exchange = route.post(case.body)
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_S):
            await exchange.wait()
            await exchange.wait_app()
    backend.cancel()
    seen.failed = failure(exchange, file)
    seen.status, seen.media_type = exchange.status, exchange.headers.get("content-type", "")
    for event in exchange.events:
        if event.kind == "chunk" and event.data:
            seen.pieces.append((event.at_us, event.data))
        elif event.kind == "completed":
            seen.ended = True
    return seen


TURNS: Turns = (
    ("system", "Be brief."),
    ("user", "什么是 KV Cache？"),
    ("assistant", "user: a cache\n\nof keys and values"),
    ("user", "And what for? 🙂"),
)


def _random_case(rng: random.Random) -> Case:
    turns = tuple(rng.choice(TURNS) for _ in range(rng.randint(0, 4)))
    prompt = "Once upon" if not turns or rng.random() < 0.3 else None
    sampling: dict[str, float | int | bool] = {
        "temperature": rng.randint(0, 20) / 10,
        "top_k": rng.randint(1, 50),
        "top_p": rng.randint(1, 10) / 10,
        "ignore_eos": rng.random() < 0.5,
    }
    some = {name: value for name, value in sampling.items() if rng.random() < 0.5}
    replies = tuple(rng.choice(("One", " two", "", "三\n\n")) for _ in range(rng.randint(1, 5)))
    stream = rng.choice((None, False, True, True))
    limit = rng.choice((None, rng.randint(1, 900)))
    return Case("at-random", turns, prompt, limit, stream, some, replies)
