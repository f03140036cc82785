"""Chapter 5, exercise 6: role, text, reason and end mark, each in its event (C5.88 to C5.98)."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from types import ModuleType
from typing import Any

import msgspec

from ...gaps.reference_wire import ReferenceWire
from ...message import BatchFrontendMsg, ErrorReply, UserReply
from ...recording import Recording
from ...server.frontend import FrontendManager
from ...server.openai.answer import ResponseForm
from ..drill import NEVER_ENDS, Drill, Found, Reader, Say, in_virtual_time
from ..reader_file import the_class
from .events import Event, events
from .front import PATIENCE_S, Front, reply
from .plain import STEP_US, recording

NOT_BYTES, RUN_TOGETHER, NOT_JSON = "not-bytes", "run-together", "not-json"
END_MARK, AFTER_THE_END, COUNT, HEAD = "end-mark", "after-the-end", "count", "head"
ROLE, CONTENT, REASON, LATE = "role", "content", "reason", "late"

LATE_US = 50_000
OBJECT = "text_completion.chunk"
DONE = "[DONE]"


class Case(msgspec.Struct, frozen=True):
    """The texts of the replies to each stream; the last one is finished. One comes for each stream at every
    step, or all in one batch if ``together``. ``earlier`` requests have had uids before these.
    """

    check: str
    streams: tuple[tuple[str, ...], ...]
    together: bool = False
    earlier: int = 0

    def filed_us(self, place: int) -> int:
        return STEP_US if self.together else STEP_US * (place + 1)


class StreamSeen(msgspec.Struct):
    """What the generator gave and when. ``odd``: the type of an item that is no bytes."""

    pieces: list[tuple[int, bytes]] = []
    odd: str = ""
    ended: bool = False


class Seen(msgspec.Struct):
    streams: list[StreamSeen]


class EncoderDrill(Drill[Case, Case, Seen]):
    """Files replies for ``stream_chat_completions``, and reads its bytes as a strict client does."""

    job_type = Case
    seen_type = Seen
    checks = (
        "one-reply",
        "several-replies",
        "finished-with-text",
        "empty-amid",
        "empty-first",
        "only-empty",
        "multi-byte",
        "one-batch",
        "two-at-once",
        "at-random",
    )
    faults = (
        NOT_BYTES,
        RUN_TOGETHER,
        NOT_JSON,
        NEVER_ENDS,
        END_MARK,
        AFTER_THE_END,
        COUNT,
        HEAD,
        ROLE,
        CONTENT,
        REASON,
        LATE,
    )

    def prepare(self) -> None:
        assert self._recorder is not None

    def find(self, module: ModuleType, file: str) -> type[FrontendManager]:
        return the_class(module, ReferenceWire, file, ("stream_chat_completions",))

    def cases(self, rng: random.Random) -> Sequence[Case]:
        fixed = [
            Case("one-reply", (("Hello",),)),
            Case("several-replies", (("A", " server", " answers"),), earlier=3),
            Case("finished-with-text", (("One", " two"),)),
            Case("empty-amid", (("One", "", " two", ""),)),
            Case("empty-first", (("", "One", " two"),)),
            Case("only-empty", (("",),)),
            Case("only-empty", (("", ""),)),
            Case("multi-byte", (("推理", '"引号"\n', "服务 🙂"),)),
            Case("one-batch", (("One", " two", "", " three"),), together=True),
            Case("two-at-once", (("A", " b"), ("C", "", " d"))),
            Case("two-at-once", (("", "b"), ("C", " d")), earlier=1),
        ]
        return [*fixed, *(_random_case(rng) for _ in range(12))]

    def play(self, reader: Reader, job: Case) -> Seen:
        return in_virtual_time(lambda: _play(reader.found, job))

    def judge(self, case: Case, seen: Seen) -> Iterator[Found]:
        for index, stream in enumerate(seen.streams):
            for fault, place, values in _faults(case, index, stream):
                named = {"request": "ABCD"[index], "number": place + 1, **values}
                yield Found(fault, named, index, case.filed_us(place) + 1_000)

    def check_of(self, case: Case, fault: str) -> str:
        return case.check

    def in_words(self, case: Case, say: Say) -> str:
        parts = [
            say("replies", request="ABCD"[index], texts=", ".join(f'"{text}"' for text in texts))
            for index, texts in enumerate(case.streams)
        ]
        return say("sentence end").join([*parts, *([say("in one batch")] if case.together else [])])

    def size(self, case: Case) -> tuple[int, ...]:
        return len(case.streams), sum(map(len, case.streams)), case.earlier, case.together

    def smaller(self, case: Case) -> Iterator[Case]:
        for index, texts in enumerate(case.streams):
            others = case.streams[:index], case.streams[index + 1 :]
            if len(case.streams) > 1:
                yield msgspec.structs.replace(case, streams=(*others[0], *others[1]))
            for place in range(len(texts) if len(texts) > 1 else 0):
                fewer = texts[:place] + texts[place + 1 :]
                yield msgspec.structs.replace(case, streams=(*others[0], fewer, *others[1]))

    def recording(self, case: Case) -> tuple[Recording, str] | None:
        """Of as many replies; whose texts are empty, no recording of whole tokens can say."""
        if case.together or any(not text for texts in case.streams for text in texts):
            return None
        return self._recorder([len(texts) for texts in case.streams]), "2.3"

    @cached_property
    def _recorder(self) -> Any:
        return recording()


Fault = tuple[str, int, dict[str, Any]]


def _faults(case: Case, index: int, seen: StreamSeen) -> Iterator[Fault]:
    """Fault, the place of its event, and what to tell."""
    texts = case.streams[index]
    if seen.odd:
        yield NOT_BYTES, 0, {"type": seen.odd}
        return
    came, rest = events(seen.pieces)
    for place, each in enumerate(came[:-1] if came and came[-1].data == DONE else came):
        if each.data == DONE:
            yield AFTER_THE_END, place, {"got": _cut(came[place + 1].data)}
            return
        if _parsed(each) is None:
            yield RUN_TOGETHER if "\n" in each.data else NOT_JSON, place, {"got": _cut(each.data)}
            return
    if rest.strip():
        yield RUN_TOGETHER, len(came), {"got": _cut(rest.decode(errors="replace"))}
    elif not seen.ended:
        yield NEVER_ENDS, len(texts) - 1, {"what": "stream"}
    elif not came or came[-1].data != DONE:
        yield END_MARK, len(texts) - 1, {"got": _cut(came[-1].data) if came else "-"}
    elif len(came) != len(texts) + 2:
        yield COUNT, len(texts) - 1, {"due": len(texts) + 2, "got": len(came)}
    else:
        yield from _contents(case, index, came)


def _contents(case: Case, index: int, came: list[Event]) -> Iterator[Fault]:
    texts = case.streams[index]
    for place, each in enumerate(came[:-1]):
        chunk = _parsed(each)
        assert chunk is not None
        last = place == len(texts)
        at = min(place, len(texts) - 1)
        try:
            (choice,) = chunk["choices"]
            head = chunk["id"], chunk["object"], choice["index"]
            delta, reason = dict(choice["delta"]), choice["finish_reason"]
        except (KeyError, TypeError, ValueError):
            yield HEAD, at, {"due": "id, object, choices", "got": _cut(each.data)}
            continue
        due = f"cmpl-{case.earlier + index}", OBJECT, 0
        if head != due or type(head[2]) is not int:
            yield HEAD, at, {"due": ", ".join(map(str, due)), "got": ", ".join(map(str, head))}
        role = {} if place else {"role": "assistant"}
        if {name: value for name, value in delta.items() if name == "role"} != role:
            yield ROLE, at, {"number": place + 1, "got": _cut(each.data)}
        delta.pop("role", None)
        text = {"content": texts[place]} if not last and texts[place] else {}
        told = {"number": place + 1, "got": _cut(each.data)}
        if delta != text:
            yield CONTENT, at, {**told, "due": json.dumps(text, ensure_ascii=False)}
        if reason != ("stop" if last else None):
            yield REASON, at, {**told, "what": "last" if last else "text", "got": json.dumps(reason)}
    for place, each in enumerate(came):
        at = min(place, len(texts) - 1)
        if each.at_us - case.filed_us(at) > LATE_US:
            yield LATE, at, {"number": place + 1, "ms": (each.at_us - case.filed_us(at)) // 1000}


def _parsed(each: Event) -> dict[str, Any] | None:
    try:
        chunk = json.loads(each.data)
    except ValueError:
        return None
    return chunk if isinstance(chunk, dict) else None


def _cut(text: str) -> str:
    plain = text.replace("\n", "\\n")
    return plain if len(plain) <= 160 else plain[:160] + "..."


async def _play(cls: type[FrontendManager], case: Case) -> Seen:
    front = Front(cls)
    for _ in range(case.earlier):
        front.frontend.new_user()
    uids = [front.frontend.new_user() for _ in case.streams]
    seen = Seen([StreamSeen() for _ in uids])
    loop = asyncio.get_running_loop()

    async def read(index: int) -> None:
        stream, uid = seen.streams[index], uids[index]
        form = front.frontend.form_for(uid, ResponseForm("stamp", 0, "model", True))
        items: AsyncIterator[object] = front.frontend.stream_chat_completions(uid, form)
        async for item in items:
            if not isinstance(item, bytes):
                stream.odd = stream.odd or type(item).__name__
            else:
                stream.pieces.append((round(loop.time() * 1e6), item))
        stream.ended = True

    async def answer() -> None:
        for at in range(max(map(len, case.streams))):
            batch: list[UserReply | ErrorReply] = [
                reply(uid, texts[at], at == len(texts) - 1)
                for uid, texts in zip(uids, case.streams, strict=True)
                if at < len(texts)
            ]
            await asyncio.sleep((case.filed_us(at) - round(loop.time() * 1e6)) / 1e6)
            front.inbox.send(BatchFrontendMsg(data=batch))

    listening = asyncio.create_task(front.frontend.listen(), name="listen")
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(answer(), *(read(index) for index in range(len(uids))))
    if listening.done():
        listening.result()
    return seen


def _random_case(rng: random.Random) -> Case:
    texts = ("One", " two", "", "", ' "three"', " 四", "\n\n", "data: x", "[DONE]", "\\")
    streams = tuple(
        tuple(rng.choice(texts) for _ in range(rng.randint(1, 6))) for _ in range(rng.randint(1, 3))
    )
    return Case("at-random", streams, rng.random() < 0.3, rng.randint(0, 4))
