"""What a client measures of an answer: reads as a network cuts them, and what a right report says."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing

import msgspec
from msgspec.structs import replace

from ..drill import Found
from .front import PATIENCE_S
from .route import now_us

NO_REPORT, R_FIRST, R_TOTAL, R_FORWARDS, R_TEXT = (
    "no-report",
    "report-first",
    "report-total",
    "report-forwards",
    "report-text",
)

EXACT_S = 0.002
CLOCK_S = 5_000.0
"""What the clock says at the call: its zero is nobody's."""

DONE = b"data: [DONE]\n\n"


class Reads(msgspec.Struct, frozen=True, tag=True):
    """What a client reads of an answer, at which ms; and when the engine made a step for it. The connection
    stays open for ``open_ms`` behind the last read.
    """

    check: str
    reads: tuple[tuple[int, bytes], ...]
    forwards: tuple[int, ...]
    streamed: bool
    text: str
    first_ms: int
    open_ms: int = 0

    @property
    def total_ms(self) -> int:
        return self.reads[-1][0] + self.open_ms


class Report(msgspec.Struct):
    """What ``measure`` returned: numbers where it has some, and all of it as a text."""

    first: float | None
    total: float | None
    forwards: int | None
    text: str | None
    said: str


async def measured(measure: Callable[..., Awaitable[object]], case: Reads) -> Report:
    """Has the reader's function measure."""

    async def reads() -> AsyncGenerator[bytes, None]:
        for ms, data in case.reads:
            await asyncio.sleep(ms / 1000 - now_us() / 1e6)
            yield data
        await asyncio.sleep(case.open_ms / 1000)

    loop = asyncio.get_running_loop()
    async with asyncio.timeout(PATIENCE_S), aclosing(reads()) as given:
        said = await measure(
            given,
            case.streamed,
            lambda: CLOCK_S + loop.time(),
            lambda: sum(ms * 1000 <= now_us() for ms in case.forwards),
        )
    fields = said if isinstance(said, dict) else {}
    first, total, forwards, text = (fields.get(name) for name in ("first", "total", "forwards", "text"))
    return Report(
        _number(first),
        _number(total),
        forwards if type(forwards) is int else None,
        text if isinstance(text, str) else None,
        repr(said)[:120],
    )


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def wrong_in(case: Reads, report: Report) -> Iterator[Found]:
    if None in (report.first, report.total, report.forwards, report.text):
        yield Found(NO_REPORT, {"got": report.said})
        return
    if report.text != case.text:
        yield Found(R_TEXT, {"due": repr(case.text), "got": repr(report.text)[:120]})
    for fault, due_ms, got in (
        (R_FIRST, case.first_ms, report.first),
        (R_TOTAL, case.total_ms, report.total),
    ):
        if got is not None and not abs(got - due_ms / 1000) <= EXACT_S:
            yield Found(fault, {"due": due_ms / 1000, "got": round(got, 6)})
    if report.forwards != len(case.forwards):
        yield Found(R_FORWARDS, {"due": len(case.forwards), "got": report.forwards})


def _event(delta: dict[str, str], reason: str | None = None) -> bytes:
    body = {
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
    }
    return b"data: " + json.dumps(body, ensure_ascii=False).encode() + b"\n\n"


def _streamed(check: str, pieces: Sequence[str], step_ms: int, cut: str = "") -> Reads:
    """An answer whose steps take so long. ``cut``: each event is read in two, or two are read as one."""
    role = _event({"role": "assistant"})
    reads: list[tuple[int, bytes]] = [(2, role)]
    first_ms = 0
    for place, piece in enumerate(pieces, 1):
        at_ms, event = place * step_ms, _event({"content": piece})
        if not piece:  # a step has made a part of a character
            reads.append((at_ms, event))
        elif cut == "in two":
            # Within the last character of the text, if it has several bytes.
            text = json.dumps(piece, ensure_ascii=False)[1:-1].encode()
            half = event.index(text) + len(text) - 1
            reads += [(at_ms, event[:half]), (at_ms + 7, event[half:])]
            first_ms = first_ms or at_ms + 7
        else:
            reads.append((at_ms, event))
            first_ms = first_ms or at_ms
    if cut == "joined":
        first_ms = reads[2][0] if len(reads) > 2 else first_ms
        reads = [
            (reads[min(at + 1, len(reads) - 1)][0], b"".join(data for _, data in reads[at : at + 2]))
            for at in range(1, len(reads), 2)
        ]
        reads.insert(0, (2, role))
    end_ms = len(pieces) * step_ms + 9
    reads.append((end_ms, _event({}, "length") + DONE))
    steps = tuple(place * step_ms - 1 for place in range(1, len(pieces) + 1))
    return Reads(check, tuple(reads), steps, True, "".join(pieces), first_ms)


def _whole(check: str, pieces: Sequence[str], step_ms: int, parts: int = 1) -> Reads:
    message = {"role": "assistant", "content": "".join(pieces)}
    choice = {"index": 0, "message": message, "finish_reason": "length"}
    data = json.dumps({"object": "chat.completion", "choices": [choice]}, ensure_ascii=False).encode()
    end_ms = len(pieces) * step_ms + 3
    size = -(-len(data) // parts)
    reads = tuple((end_ms + 5 * at, data[at * size : (at + 1) * size]) for at in range(parts))
    steps = tuple(place * step_ms - 1 for place in range(1, len(pieces) + 1))
    return Reads(check, reads, steps, False, "".join(pieces), reads[-1][0])


def fixed_reads() -> Iterator[Reads]:
    english, chinese = ("One", " two", " three"), ("一个", "词元", "，又一个")
    yield _streamed("report-streamed", english, 100)
    yield _streamed("report-streamed", english, 340)
    yield _streamed("report-streamed", ("", "😀", "", "", "🤖"), 60)
    yield replace(_streamed("report-streamed", english, 100), open_ms=250)
    yield _whole("report-whole", english, 100)
    yield _whole("report-whole", chinese, 170, 3)
    yield _streamed("report-cut", english, 100, "in two")
    yield _streamed("report-cut", chinese, 100, "in two")
    yield _streamed("report-cut", (*english, " four"), 100, "joined")


def random_reads(rng: random.Random) -> Reads:
    pieces = [rng.choice(("One", " two", "三", "，\n\n", ' "q"')) for _ in range(rng.randint(1, 6))]
    step_ms = rng.randint(20, 400)
    if rng.random() < 0.4:
        return _whole("at-random", pieces, step_ms, rng.randint(1, 3))
    streamed = _streamed("at-random", pieces, step_ms, rng.choice(("", "in two", "joined")))
    return replace(streamed, open_ms=rng.choice((0, 0, 120)))


def short(data: bytes) -> str:
    text = data.decode(errors="replace").replace("\n", "\\n")
    return text if len(text) <= 24 else f"{text[:6]}...{text[-16:]}"
