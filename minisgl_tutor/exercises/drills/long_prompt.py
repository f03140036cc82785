"""Chapter 5, exercise 10: a prompt that is too long is answered, with an error (C5.163, C5.164, C2.46)."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from types import ModuleType

from msgspec.structs import replace

from ...scheduler.scheduler import Scheduler
from ..drill import Found
from ..reader_file import the_class
from .scene import MALFORMED, Client, Scene, told
from .scene_drill import WRONG_ANSWER, Case, SceneDrill, other_answer
from .stage import (
    FAILS,
    GROWS,
    LAST_US,
    LEFT_BEHIND,
    MADE_FOR_NOBODY,
    UNANSWERED,
    StageSeen,
    left_behind,
    name_of,
)

LIMIT = 64
"""Tokens that prompt and answer may have together."""

LOOKS_FINE, STATUS, NO_MESSAGE, NO_LIMIT, COMPUTED, TWICE, LATE = (
    "looks-fine",
    "status",
    "no-message",
    "no-limit",
    "computed",
    "twice",
    "late",
)
BOOKS = "books"

PATIENCE_US = 300_000
"""An error may come so much later than from the server's own class: three engine steps."""


class LongPromptDrill(SceneDrill):
    """Clients whose prompts are too long, just short enough, and of others."""

    checks = (
        "whole",
        "streaming",
        "much-too-long",
        "at-the-limit",
        "fits",
        "next-one",
        "neighbours",
        "many",
        "client-leaves",
        "at-random",
    )
    faults = (
        FAILS,
        COMPUTED,
        UNANSWERED,
        LOOKS_FINE,
        STATUS,
        NO_MESSAGE,
        NO_LIMIT,
        TWICE,
        LATE,
        WRONG_ANSWER,
        MADE_FOR_NOBODY,
        LEFT_BEHIND,
        BOOKS,
        GROWS,
    )

    def find(self, module: ModuleType, file: str) -> type[Scheduler]:
        return the_class(module, Scheduler, file, ("_add_request",))

    def fixed(self) -> Iterator[Case]:
        client, scene = self._client, self._scene
        for overlap in (False, True):
            for check, stream in (("whole", False), ("streaming", True)):
                yield Case(check, scene([client(LIMIT + 6, 4, stream)], overlap))
            yield Case("much-too-long", scene([client(5 * LIMIT, 1, False)], overlap))
            yield Case("at-the-limit", scene([client(LIMIT, 1, False)], overlap))
            yield Case("at-the-limit", scene([client(LIMIT + 1, 3, True)], overlap))
            yield Case("fits", scene([client(LIMIT - 1, 1, False)], overlap))
            yield Case("fits", scene([client(LIMIT - 4, 3, True)], overlap))
            wants_more = replace(client(LIMIT - 4, 4, False), max_tokens=100)
            yield Case("fits", scene([wants_more], overlap))
            yield Case("next-one", scene([client(LIMIT + 6, 4), replace(client(20, 3), start=2)], overlap))
            others = [
                client(20, 6),
                replace(client(LIMIT, 4, False), start=2),
                replace(client(30, 4), start=2),
            ]
            yield Case("neighbours", scene(others, overlap))
            yield Case("neighbours", scene([client(20, 9), replace(client(99, 4), start=4)], overlap, 2))
            many = [replace(client(LIMIT + uid, 4, uid % 2 == 0), start=uid // 3) for uid in range(7)]
            yield Case("many", scene([*many, replace(client(20, 3), start=4)], overlap))
            yield Case("many", scene([replace(each, start=3 * at) for at, each in enumerate(many)], overlap))
            yield Case("client-leaves", scene([replace(client(99, 4, False), leaves_ms=0)], overlap))

    def random_scene(self, rng: random.Random) -> Scene:
        clients = []
        for _ in range(rng.randint(2, 5)):
            length = rng.choice((rng.randint(12, LIMIT - 10), rng.randint(LIMIT - 3, LIMIT + 3), 150))
            answer = rng.randint(1, max(1, min(6, LIMIT - length)))
            clients.append(replace(self._client(length, answer, rng.random() < 0.6), start=rng.randint(0, 5)))
        clients.sort(key=lambda each: each.start)
        return self._scene(clients, rng.random() < 0.6, rng.choice((0, 1)))

    def judge(self, case: Case, seen: StageSeen) -> Iterator[Found]:
        yield from left_behind(seen)
        if seen.failed:
            return
        if seen.books:
            yield Found(BOOKS, {"text": seen.books.sentence()}, 0, LAST_US)
        own = self.maker.own(case.scene)
        for index, client in enumerate(case.scene.clients):
            if client.leaves_ms is not None or seen.clients[index].end == "waiting":
                continue
            if self.maker.prompt_len(client) < LIMIT:
                yield from other_answer(index, seen, own)
            else:
                yield from _refused(index, seen, own)

    def _client(self, length: int, answer: int, stream: bool = True) -> Client:
        return Client(self.maker.answer(answer), self.maker.prompt(length), stream=stream)

    def _scene(self, clients: list[Client], overlap: bool, num_tokenizer: int = 0) -> Scene:
        return Scene(tuple(clients), num_tokenizer, overlap, max_seq_len=LIMIT)


def _refused(index: int, seen: StageSeen, own: StageSeen) -> Iterator[Found]:
    """What is wrong with the way in which a prompt that is too long was answered."""
    client, said = seen.clients[index], told(seen.clients[index].body)
    name = {"request": name_of(index), "limit": LIMIT}
    computed = [at_us for at_us, clients in seen.forwards if index in clients]
    if computed:
        yield Found(COMPUTED, name, index, computed[0])
    status = client.status or 0
    if status < 400:
        yield Found(LOOKS_FINE, {**name, "got": said.in_short(status)}, index, client.end_us)
    elif not 400 <= status < 500:
        yield Found(STATUS, {**name, "status": status}, index, client.end_us)
    elif not said.error.strip() or said.error == str(MALFORMED):
        yield Found(NO_MESSAGE, name, index, client.end_us)
    elif not {LIMIT, LIMIT - 1} & set(map(int, re.findall(r"\d+", said.error))):
        yield Found(NO_LIMIT, {**name, "got": repr(said.error[:120])}, index, client.end_us)
    ends = [each for each in seen.messages if each.client == index and each.target == "api"]
    if len(ends) > 1:
        yield Found(TWICE, {**name, "count": len(ends)}, index, ends[1].t_us)
    if (late_us := client.end_us - own.clients[index].end_us) > PATIENCE_US:
        yield Found(LATE, {**name, "ms": late_us // 1000}, index, client.end_us)
