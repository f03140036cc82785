"""The child process of a check: loads the reader's file, plays the jobs that come, answers each.

It judges nothing. Run as ``python -m minisgl_tutor.exercises.child FILE JOBS ANSWERS``
with the numbers of two pipes.
"""

from __future__ import annotations

import logging
import os
import sys
import traceback
from pathlib import Path
from typing import BinaryIO, NoReturn

from ..resources import model_dir
from ..server.frontend import FrontendManager
from ..tokenizer.load import load_tokenizer
from ..tokenizer.tokenizer import Tokenizer
from ..trace.play import play
from . import sandbox
from .reader_file import ReaderFileError, ReaderFileMissing, load, the_class
from .rigs import Rig
from .wire import (
    Answer,
    Broken,
    Done,
    NotLoaded,
    OutOfMemory,
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

    def __init__(self, file: Path, jobs: BinaryIO, answers: BinaryIO, nonce: str) -> None:
        self._file = file
        self._jobs = jobs
        self._answers = answers
        self._nonce = nonce
        self._number = 0
        self._count = 0

    def run(self) -> None:
        tokenizer = load_tokenizer(model_dir())
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
                cls = the_class(module, FrontendManager, self._file.name)
        except ReaderFileError as error:
            self._say(NotLoaded(self._nonce, str(error), isinstance(error, ReaderFileMissing)))
            return
        rig = Rig(cls, tokenizer, self._file, module, blocked)
        self._say(Ready(self._nonce))
        while not isinstance(job := read_job(self._jobs), Stop):
            self._number = job.number
            with watchdog.watching():
                if isinstance(job, StepsJob):
                    answer: Answer = self._steps(job, cls, tokenizer)
                else:
                    answer = rig.play(job, self._nonce)
            self._say(answer)
            self._count += 1
        self._say(Done(self._nonce, self._count))

    def run_out(self) -> None:
        """There is no memory left, because the reader's file has it."""
        self._say(OutOfMemory(self._nonce, self._number))

    def _steps(self, job: StepsJob, cls: type[FrontendManager], tokenizer: Tokenizer) -> Steps:
        try:
            result = play(job.recording, tokenizer, frontend_class=cls, spec_version=job.spec)
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


def main() -> NoReturn:
    file, jobs, answers = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    for pipe in (jobs, answers):
        os.set_inheritable(pipe, False)
    logging.getLogger().addHandler(logging.NullHandler())
    logging.disable(logging.CRITICAL)
    with os.fdopen(jobs, "rb") as incoming, os.fdopen(answers, "wb") as outgoing:
        nonce = incoming.readline().decode("ascii").strip()
        child = Child(file, incoming, outgoing, nonce)
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
