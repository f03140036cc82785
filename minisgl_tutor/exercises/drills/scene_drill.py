"""Drills that play scenes on the whole server; its own classes tell what their clients should get."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property

import msgspec
from msgspec.structs import replace

from ...recording import Recording
from ..drill import Drill, Found, Reader, Say
from .scene import Client, Scene, SceneMaker, told
from .stage import LAST_US, StageJob, StageSeen, name_of, on_stage

WRONG_ANSWER = "wrong-answer"

RANDOM_SCENES = 10


class Case(msgspec.Struct, frozen=True):
    """A scene, in the check that it belongs to."""

    check: str
    scene: Scene


class SceneDrill(Drill[Case, StageJob, StageSeen]):
    """Every case is a recording, so each failure has a trace."""

    job_type = StageJob
    seen_type = StageSeen

    def prepare(self) -> None:
        assert self.maker.tokens

    @abstractmethod
    def fixed(self) -> Iterator[Case]:
        """What is tried each time, the simplest first."""

    @abstractmethod
    def random_scene(self, rng: random.Random) -> Scene:
        """A further one."""

    def cases(self, rng: random.Random) -> Sequence[Case]:
        at_random = [Case("at-random", self.random_scene(rng)) for _ in range(RANDOM_SCENES)]
        return [*self.fixed(), *at_random]

    def job(self, case: Case) -> StageJob:
        return StageJob(self.maker.recording(case.scene))

    def play(self, reader: Reader, job: StageJob) -> StageSeen:
        return on_stage(job.recording, self.maker.tokenizer, reader)

    def check_of(self, case: Case, fault: str) -> str:
        return case.check

    def in_words(self, case: Case, say: Say) -> str:
        scene = case.scene
        parts = [] if scene.overlap else [say("without overlap")]
        if scene.num_tokenizer:
            parts.append(say("own process", count=scene.num_tokenizer))
        for index, client in enumerate(scene.clients):
            parts.append(_in_words(index, client, self.maker.prompt_len(client), say))
        return say("sentence end").join(parts)

    def size(self, case: Case) -> tuple[int, ...]:
        clients = case.scene.clients
        return len(clients), sum(len(each.answer) for each in clients), sum(each.start for each in clients)

    def smaller(self, case: Case) -> Iterator[Case]:
        clients = case.scene.clients
        for index in range(len(clients) if len(clients) > 1 else 0):
            rest = clients[:index] + clients[index + 1 :]
            yield replace(case, scene=replace(case.scene, clients=rest))

    def recording(self, case: Case) -> tuple[Recording, str] | None:
        return self.maker.recording(case.scene), "2.3"

    @cached_property
    def maker(self) -> SceneMaker:
        return SceneMaker()


def other_answer(index: int, seen: StageSeen, own: StageSeen) -> Iterator[Found]:
    """What a client got that is another answer than it gets from the server's own classes."""
    client, due = seen.clients[index], own.clients[index]
    got, right = told(client.body), told(due.body)
    if (client.end, client.status, got) != (due.end, due.status, right):
        values = {"due": right.in_short(due.status), "got": got.in_short(client.status)}
        yield Found(WRONG_ANSWER, {"request": name_of(index), **values}, index, LAST_US)


def _in_words(index: int, client: Client, prompt_len: int, say: Say) -> str:
    text = say(
        "client asks",
        request=name_of(index),
        ms=client.start * 100,
        length=prompt_len,
        most=client.max_tokens or len(client.answer),
        mode=say("streaming" if client.stream else "not streaming"),
    )
    if client.stop:
        text += say("client stop", stop=" ".join(map(repr, client.stop)))
    if client.chunk_ms:
        text += say("client reads", ms=client.chunk_ms)
    if client.leaves_ms is not None:
        text += say("client leaves", ms=client.leaves_ms)
    return text
