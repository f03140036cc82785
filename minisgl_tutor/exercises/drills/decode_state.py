"""Chapter 5, exercise 9: after an abort the detokenizer forgets the request too (C5.161, C5.162)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from types import ModuleType

from msgspec.structs import replace

from ...scheduler.scheduler import Scheduler
from ..drill import Found
from ..reader_file import the_class
from .lifecycle.kept import MANY
from .scene import Client, Scene
from .scene_drill import WRONG_ANSWER, Case, SceneDrill, other_answer
from .stage import (
    FAILS,
    GROWS,
    LEFT_BEHIND,
    MADE_FOR_NOBODY,
    UNANSWERED,
    MessageSeen,
    StageSeen,
    left_behind,
    name_of,
)

REASON, TWICE, TOKEN = "reason", "twice", "token"

EMOJI = "😀😁😀😁"
"""Several tokens a character."""


class DecodeStateDrill(SceneDrill):
    """Clients that leave a server whose tokenizers and detokenizer are one process or several."""

    checks = (
        "running",
        "not-streaming",
        "early",
        "mid-character",
        "own-process",
        "stop-strings",
        "ended-there",
        "neighbours",
        "many",
        "at-random",
    )
    faults = (FAILS, UNANSWERED, WRONG_ANSWER, MADE_FOR_NOBODY, LEFT_BEHIND, REASON, TWICE, TOKEN, GROWS)

    def find(self, module: ModuleType, file: str) -> type[Scheduler]:
        return the_class(module, Scheduler, file, ("_send_aborted",))

    def fixed(self) -> Iterator[Case]:
        answer = self.maker.answer(8)
        leaves = Client(answer, leaves_ms=350)
        for overlap in (False, True):
            yield Case("running", Scene((leaves,), 0, overlap))
            yield Case("not-streaming", Scene((Client(answer, stream=False, leaves_ms=350),), 0, overlap))
            for leaves_ms in (50, 150, 250):
                yield Case("early", Scene((Client(answer, leaves_ms=leaves_ms),), 0, overlap))
            tokens = tuple(self.maker.tokenizer.encode(EMOJI, add_special_tokens=False))
            for leaves_ms in (250, 350, 450):
                yield Case("mid-character", Scene((Client(tokens, leaves_ms=leaves_ms),), 0, overlap))
            yield Case("own-process", Scene((leaves,), 1, overlap))
            yield Case("own-process", Scene((leaves, Client(answer, leaves_ms=150, start=1)), 3, overlap))
            stops = Client(answer, stop=("zzz",), leaves_ms=350)
            yield Case("stop-strings", Scene((stops,), 0, overlap))
            for stream in (True, False):
                ended = Client(answer, stop=("keeps",), stream=stream)
                yield Case("ended-there", Scene((ended,), int(stream), overlap))
            stays = Client(answer)
            yield Case("neighbours", Scene((stays, leaves), 0, overlap))
            yield Case(
                "neighbours", Scene((leaves, Client(tokens, start=1), Client(answer, start=5)), 1, overlap)
            )
            many = [Client(answer, leaves_ms=150 + 50 * (uid % 3), start=3 * uid) for uid in range(7)]
            yield Case("many", Scene((*many, Client(answer, start=21)), 1, overlap))
            yield Case(
                "many", Scene(tuple(replace(leaves, start=6 * uid) for uid in range(MANY)), 1, overlap)
            )

    def random_scene(self, rng: random.Random) -> Scene:
        clients = []
        for _ in range(rng.randint(2, 5)):
            length = rng.randint(1, 9)
            clients.append(
                Client(
                    self.maker.answer(length),
                    stream=rng.random() < 0.7,
                    stop=("keeps",) if rng.random() < 0.3 else (),
                    start=rng.randint(0, 4),
                    leaves_ms=rng.randrange(20, 100 * length + 100, 10) if rng.random() < 0.6 else None,
                )
            )
        clients.sort(key=lambda each: each.start)
        return Scene(tuple(clients), rng.choice((0, 0, 1, 2)), rng.random() < 0.6)

    def judge(self, case: Case, seen: StageSeen) -> Iterator[Found]:
        yield from left_behind(seen)
        if seen.failed:
            return
        own = self.maker.own(case.scene)
        for index, client in enumerate(case.scene.clients):
            if client.leaves_ms is None:
                yield from other_answer(index, seen, own)
            yield from _told_wrongly(index, seen, own)


def _told_wrongly(index: int, seen: StageSeen, own: StageSeen) -> Iterator[Found]:
    """What is wrong with the message that tells those behind the scheduler that a request is over."""
    ends, name = _ends(index, seen), {"request": name_of(index)}
    aborted = all(each.reason == "abort" for each in _ends(index, own))
    if len(ends) > 1:
        yield Found(TWICE, {**name, "count": len(ends)}, index, ends[1].t_us)
    elif ends and aborted and ends[0].kind != "ErrorReply" and ends[0].reason != "abort":
        yield Found(REASON, {**name, "got": ends[0].reason}, index, ends[0].t_us)
    elif ends and aborted and ends[0].token is not None:
        yield Found(TOKEN, {**name, "token": ends[0].token}, index, ends[0].t_us)


def _ends(index: int, seen: StageSeen) -> list[MessageSeen]:
    """The scheduler's last messages of a request, of which there should be one."""
    return [
        each
        for each in seen.messages
        if each.client == index
        and each.target != "api"
        and (each.kind == "ErrorReply" or (each.kind == "DetokenizeMsg" and each.finished))
    ]
