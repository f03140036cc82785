"""Plays a schedule over a class, and tells what was seen.

There are two places: the stage, with all components, where a recording is
played; and the desk, where the front end is alone and replies are scripted, for
what no recording of a server can hold.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Protocol

from ....language import Sentence
from ....language.wire import Said
from ....recording import RequestLine
from ....server.frontend import FrontendManager
from ....tokenizer.tokenizer import Tokenizer
from ....trace.auditor import Finding
from ....trace.play import Player
from ....trace.steps import Step
from ....trace.tracer import FRONT
from ...drill import in_virtual_time
from ...wire import Raised
from .desk import Desk
from .observation import Job, Observation, StageJob
from .witness import Witness


class Place(Protocol):
    """``kept`` and ``elsewhere``: by client, what the front end and others kept of it when all was quiet."""

    kept: list[list[str]]
    elsewhere: list[list[Said]]

    async def main(self) -> None: ...

    def arrivals(self, index: int) -> list[int]: ...

    def aborts(self) -> list[tuple[int, int]]: ...


class Rig:
    """Plays jobs over one class. ``file`` and ``module`` are the reader's; null for the server's own."""

    def __init__(
        self,
        cls: type[FrontendManager],
        tokenizer: Tokenizer,
        file: Path | None = None,
        module: ModuleType | None = None,
    ) -> None:
        self._cls = cls
        self._tokenizer = tokenizer
        self._file = file
        self._module = module

    def play(self, job: Job) -> Observation:
        witness = Witness(self._file, self._module)
        cls = witness.watched(self._cls)
        place: Place
        if isinstance(job, StageJob):
            place = Staged(job, cls, self._tokenizer, witness)
        else:
            place = Desk(job, cls, witness)
        stopped = _run(place, witness)
        clients = range(len(place.kept))
        return Observation(
            [witness.seen(index) for index in clients],
            [place.arrivals(index) for index in clients],
            place.aborts(),
            place.kept,
            place.elsewhere,
            witness.waiting,
            witness.background,
            stopped,
        )


def _run(place: Place, witness: Witness) -> Raised | None:
    try:
        in_virtual_time(place.main)
    except BaseException as error:
        if not witness.finished:
            return witness.raised(error)
    return None


def _told(finding: Finding) -> Said:
    return Said.of(Sentence("{component}: {note}", component=finding.component, note=finding.note))


class Staged:
    """A recording on the stage, with the class in the place of ``FrontendManager``."""

    def __init__(
        self, job: StageJob, cls: type[FrontendManager], tokenizer: Tokenizer, witness: Witness
    ) -> None:
        clients = sum(isinstance(line, RequestLine) for line in job.recording.lines)
        self.kept: list[list[str]] = [[] for _ in range(clients)]
        self.elsewhere: list[list[Said]] = [[] for _ in range(clients)]
        self._witness = witness
        self._player = Player(job.recording, tokenizer, (), (cls,), job.spec, self._on_step)
        self._play = self._player.result
        witness.uids = self._play.uids

    async def main(self) -> None:
        self._witness.begin()
        await self._player.play()
        self.kept = self._witness.kept(len(self.kept))
        clients = self._clients()
        for finding in self._play.findings:
            if finding.component != FRONT:
                self.elsewhere[clients[finding.uid]].append(_told(finding))
        self._witness.finish()

    def _on_step(self, step: Step) -> None:
        for index, exchange in self._play.exchanges.items():
            if index not in self._witness.exchanges:
                self._witness.follow(index, exchange)

    def _clients(self) -> dict[int, int]:
        return {uid: index for index, uid in self._play.uids.items()}

    def arrivals(self, index: int) -> list[int]:
        uid = self._play.uids.get(index)
        return [
            step.arrived_us
            for step in self._play.steps
            if step.kind == "message" and step.target == FRONT and step.arrived_us is not None
            for message in step.content
            if message["uid"] == uid
        ]

    def aborts(self) -> list[tuple[int, int]]:
        clients = self._clients()
        sent = [step for step in self._play.steps if step.title == "AbortMsg"]
        return [(clients.get(uid, -1), step.t_us) for step in sent for uid in step.uids]
