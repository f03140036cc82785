"""Chapter 5, concepts, exercise 3: the stages of a request, each in its process (K5.53 to K5.56, C5.177)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import msgspec

from ..drill import NEVER_ENDS, Drill, Found, Reader, Say, in_virtual_time
from ..reader_file import load, the_function
from .front import PATIENCE_S
from .processes import API, DECODE, DETOKENIZER, ENCODE, NAMES, SCHEDULER, STEP, TOKENIZER, Computer
from .route import now_us
from .stage import name_of

HEART, PLACE, CROSSES, LEFT, HALF, TEXT, QUEUED, LATE = (
    "heart",
    "place",
    "crosses",
    "left",
    "half",
    "text",
    "queued",
    "late",
)

WORKERS = (TOKENIZER, SCHEDULER, DETOKENIZER)
DUE = {ENCODE: TOKENIZER, STEP: SCHEDULER, DECODE: DETOKENIZER}

BEAT_US = 10_000
LONGEST_GAP_US = 50_000
AT_ONCE_US = 50_000


class Ask(msgspec.Struct, frozen=True):
    """A prompt that comes at ``ms``, and the model's answer, of a token for each byte."""

    ms: int
    prompt: str
    answer: str

    @property
    def tokens(self) -> int:
        return len(self.answer.encode())

    def whole_characters(self, tokens: int) -> str:
        return self.answer.encode()[:tokens].decode(errors="ignore")


class Case(msgspec.Struct, frozen=True):
    check: str
    step_ms: int
    asks: tuple[Ask, ...]


class Seen(msgspec.Struct):
    """``came``: for each request its pieces, and when each came; ``ended``: whether it was told the end.

    ``used``: what was done where. ``crossed``: text that was sent to where only numbers go. ``left``: the
    processes that ended.
    """

    came: list[list[tuple[int, str]]]
    ended: list[bool]
    made: list[list[int]]
    used: list[tuple[str, str]]
    crossed: list[tuple[str, str]]
    left: list[str]
    gap_us: int


class StagesDrill(Drill[Case, Case, Seen]):
    """Runs each of the reader's functions as a process of its own, from a module of its own."""

    job_type = Case
    seen_type = Seen
    checks = ("one-request", "stages", "characters", "side-by-side", "many", "at-random")
    faults = (HEART, PLACE, CROSSES, LEFT, NEVER_ENDS, HALF, TEXT, QUEUED, LATE)

    def find(self, module: ModuleType, file: str) -> object:
        return [the_function(module, name, file) for name in NAMES]

    def cases(self, rng: random.Random) -> Sequence[Case]:
        def ask(ms: int, name: str, answer: str) -> Ask:
            return Ask(ms, f"Prompt {name} {rng.randrange(1000):03}?", answer)

        number = f"{rng.randrange(1000):03}"
        fixed = [
            Case("one-request", 300, (ask(0, "A", f"One{number}"),)),
            Case("stages", 40, (ask(0, "A", f"Two {number} three"),)),
            Case("characters", 60, (ask(0, "A", "三个字"),)),
            Case("characters", 60, (ask(0, "A", f"é{number}🙂"), ask(10, "B", "词元"))),
            Case("side-by-side", 300, (ask(0, "A", f"A long answer {number}"), ask(700, "B", "Short"))),
            Case(
                "many", 50, tuple(ask(20 * at, name, f"{name}{number}") for at, name in enumerate("ABCDEFGH"))
            ),
        ]
        return [*fixed, *(_random_case(rng) for _ in range(10))]

    def play(self, reader: Reader, job: Case) -> Seen:
        return in_virtual_time(lambda: _play(reader.path, job))

    def judge(self, case: Case, seen: Seen) -> Iterator[Found]:
        if seen.gap_us > LONGEST_GAP_US:
            yield Found(HEART, {"ms": seen.gap_us // 1000})
        for what, where in seen.used:
            if where != DUE[what]:
                yield Found(PLACE, {"what": what, "where": where, "due": DUE[what]})
        for to, text in seen.crossed:
            yield Found(CROSSES, {"to": to, "text": repr(text)[:60]})
        for name in seen.left:
            yield Found(LEFT, {"name": name})
        for index, ask in enumerate(case.asks):
            yield from _of_one(index, ask, case, seen)

    def check_of(self, case: Case, fault: str) -> str:
        return {PLACE: "stages", CROSSES: "stages", QUEUED: "side-by-side"}.get(fault, case.check)

    def in_words(self, case: Case, say: Say) -> str:
        asks = [
            say("asks", who=name_of(index), ms=ask.ms, tokens=ask.tokens, answer=repr(ask.answer))
            for index, ask in enumerate(case.asks)
        ]
        return say("sentence end").join([say("step", ms=case.step_ms), *asks])

    def size(self, case: Case) -> tuple[int, ...]:
        return len(case.asks), sum(ask.tokens for ask in case.asks)

    def smaller(self, case: Case) -> Iterator[Case]:
        for index in range(len(case.asks) if len(case.asks) > 1 else 0):
            yield Case(case.check, case.step_ms, case.asks[:index] + case.asks[index + 1 :])


def _of_one(index: int, ask: Ask, case: Case, seen: Seen) -> Iterator[Found]:
    came, made = seen.came[index], seen.made[index]
    text = "".join(piece for _, piece in came)
    values = {"who": name_of(index), "due": repr(ask.answer), "got": repr(text)[:100]}
    if "\ufffd" in text:
        yield Found(HALF, values)
    elif not seen.ended[index]:
        yield Found(NEVER_ENDS, {"what": "answer", **values})
    elif text != ask.answer:
        yield Found(TEXT, values)
    else:
        yield from _in_time(index, ask, case, came, made)


def _in_time(
    index: int, ask: Ask, case: Case, came: list[tuple[int, str]], made: list[int]
) -> Iterator[Found]:
    values = {"who": name_of(index)}
    for place, made_us in enumerate(made, 1):
        # Who shares the model by turns has it every so many steps.
        steps = len(case.asks) * place + 2
        due_us = 1000 * (ask.ms + steps * case.step_ms) + AT_ONCE_US
        if made_us > due_us:
            yield Found(QUEUED, {**values, "number": place, "ms": made_us // 1000, "due": due_us // 1000})
            return
        there = "".join(piece for at_us, piece in came if at_us <= made_us + AT_ONCE_US)
        if len(there) < len(ask.whole_characters(place)):
            yield Found(LATE, {**values, "number": place, "ms": made_us // 1000, "got": repr(there)})
            return


async def _play(file: Path | None, case: Case) -> Seen:
    assert file is not None
    loop = asyncio.get_running_loop()
    answers = {ask.prompt: ask.answer for ask in case.asks}
    computer = Computer(answers, case.step_ms * 1000, range(len(case.asks)))
    functions = {name: the_function(load(file), name, file.name) for name in NAMES}
    gap_us = 0

    async def beat() -> None:
        nonlocal gap_us
        while True:
            before = now_us()
            await asyncio.sleep(BEAT_US / 1e6)
            gap_us = max(gap_us, now_us() - before - BEAT_US)

    came: list[list[tuple[int, str]]] = [[] for _ in case.asks]
    ended = [False for _ in case.asks]

    async def ask(index: int, asked: Ask) -> None:
        await asyncio.sleep(asked.ms / 1000)
        process = computer.processes[API]
        async for piece in functions[API](process, index, asked.prompt, asked.tokens):
            came[index].append((now_us(), str(piece)))
        ended[index] = True

    heart = loop.create_task(beat(), name="heart")
    workers = {
        name: loop.create_task(functions[name](computer.processes[name]), name=name) for name in WORKERS
    }
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(*(ask(index, asked) for index, asked in enumerate(case.asks)))
    await asyncio.sleep(2 * LONGEST_GAP_US / 1e6)  # a beat that is late comes now
    heart.cancel()
    left = [name for name, worker in workers.items() if worker.done()]
    for name in left:
        workers[name].result()
    return Seen(
        came,
        ended,
        [computer.made[index] for index in range(len(case.asks))],
        sorted(set(computer.used)),
        list(_crossed(computer, case)),
        left,
        gap_us,
    )


def _crossed(computer: Computer, case: Case) -> Iterator[tuple[str, str]]:
    """Texts of prompts and answers in messages to where only numbers go."""
    for to, message in computer.sent:
        for text in _texts(message) if to in (SCHEDULER, DETOKENIZER) else ():
            telling = len(text) > 1 or not text.isascii()
            if telling and any(text in ask.answer or ask.prompt in text for ask in case.asks):
                yield to, text


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def _random_case(rng: random.Random) -> Case:
    asks = []
    for name in "ABCD"[: rng.randint(1, 4)]:
        answer = "".join(rng.choice(("One", " two ", "三", "é", "🙂", "4")) for _ in range(rng.randint(1, 4)))
        asks.append(Ask(rng.randint(0, 60) * 10, f"Prompt {name} {rng.randrange(1000):03}?", answer))
    return Case("at-random", rng.choice((20, 60, 300)), tuple(asks))
