"""The child process of a check: loads the reader's file, plays the jobs that come, answers each.

It judges nothing. Run as ``python -m minisgl_tutor.exercises.child FILE JOBS ANSWERS EXERCISE``
with the numbers of two pipes and the key of the exercise.
"""

from __future__ import annotations

import logging
import os
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO, NoReturn

import msgspec

from ..language import sentence_of
from ..language.wire import Said
from ..resources import model_dir
from ..tokenizer.load import load_tokenizer
from ..trace.play import play
from . import sandbox
from .catalogue import resolve
from .drill import Drill, Reader
from .reader_file import ReaderFileError, ReaderFileMissing, classes_of, load
from .wire import (
    Answer,
    Broken,
    Done,
    NotLoaded,
    OutOfMemory,
    Played,
    PlayJob,
    Raised,
    Ready,
    Started,
    Steps,
    StepSeen,
    StepsJob,
    Stop,
    Stuck,
    read_job,
    write,
)


class Child:
    """Its answers carry ``nonce``, which the first line of the jobs gave."""

    def __init__(
        self, file: Path, jobs: BinaryIO, answers: BinaryIO, nonce: str, drill: Drill[Any, Any, Any]
    ) -> None:
        self._file = file
        self._jobs = jobs
        self._answers = answers
        self._nonce = nonce
        self._drill = drill
        self._number = 0
        self._count = 0

    def run(self) -> None:
        self._drill.prepare()
        watchdog = sandbox.Watchdog(self._file, self._stuck)
        sandbox.settle_memory()
        sandbox.limit_resources()
        sandbox.refuse_processes()
        blocked: list[Raised] = []
        sandbox.note_sleeping(self._file, blocked)
        self._say(Started(self._nonce))
        try:
            with watchdog.watching():
                module = load(self._file)
                found = self._drill.find(module, self._file.name)
        except ReaderFileError as error:
            why = Said.of(sentence_of(error))
            self._say(NotLoaded(self._nonce, why, isinstance(error, ReaderFileMissing)))
            return
        reader = Reader(found, self._file, module)
        self._say(Ready(self._nonce))
        while not isinstance(job := read_job(self._jobs), Stop):
            self._number = job.number
            blocked.clear()
            with watchdog.watching():
                if isinstance(job, StepsJob):
                    answer: Answer = self._steps(job, module)
                else:
                    answer = played(self._drill, reader, job, self._nonce, blocked)
            self._say(answer)
            self._count += 1
        self._say(Done(self._nonce, self._count))

    def run_out(self) -> None:
        """There is no memory left, because the reader's file has it."""
        self._say(OutOfMemory(self._nonce, self._number))

    def _steps(self, job: StepsJob, module: ModuleType) -> Steps:
        try:
            classes = classes_of(module, self._file.name)
            result = play(job.recording, load_tokenizer(model_dir()), classes=classes, spec_version=job.spec)
        except BaseException:  # whatever a reader's code raises
            return Steps(job.number, self._nonce, [])
        clients = {uid: index for index, uid in result.uids.items()}
        steps = []
        for step in result.steps:
            client = clients.get(step.uids[0]) if step.uids else None
            if step.kind == "client":
                client = step.content[0]["request"]
            steps.append(StepSeen(step.number, step.t_us, step.title, client))
        return Steps(job.number, self._nonce, steps)

    def _say(self, answer: Answer) -> None:
        write(self._answers, answer)

    def _stuck(self, line: int, function: str) -> NoReturn:
        self._say(Stuck(self._nonce, self._number, line, function))
        os._exit(0)


def played(
    drill: Drill[Any, Any, Any], reader: Reader, job: PlayJob, nonce: str, blocked: list[Raised]
) -> Played:
    """One job played, and what was seen or why it could not go on."""
    seen, stopped = b"", None
    asked = msgspec.msgpack.decode(job.job, type=drill.job_type)
    try:
        seen = msgspec.msgpack.encode(drill.play(reader, asked))
    except MemoryError:
        raise
    except BaseException as error:  # whatever a reader's code raises
        stopped = reader.raised(error)
    return Played(job.number, nonce, seen, list(blocked), stopped)


def main() -> NoReturn:
    file, jobs, answers = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    for pipe in (jobs, answers):
        os.set_inheritable(pipe, False)
    logging.getLogger().addHandler(logging.NullHandler())
    logging.disable(logging.CRITICAL)
    with os.fdopen(jobs, "rb") as incoming, os.fdopen(answers, "wb") as outgoing:
        nonce = incoming.readline().decode("ascii").strip()
        child = Child(file, incoming, outgoing, nonce, resolve(sys.argv[4]).drill())
        try:
            child.run()
        except MemoryError:
            child.run_out()
        except BaseException:
            write(outgoing, Broken(nonce, traceback.format_exc(limit=-4)))
        sys.stdout.flush()
        os._exit(0)  # whatever threads or exit handlers the reader's file has left


if __name__ == "__main__":
    main()
