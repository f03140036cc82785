"""Runs a reader's file in a child process, with limits, and passes jobs and answers to and fro."""

from __future__ import annotations

import os
import queue
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import msgspec

from ..language import Sentence, reason_of
from .drill import CheckFailed
from .sandbox import MEMORY_BYTES
from .wire import (
    Answer,
    Broken,
    Done,
    Job,
    NotLoaded,
    OutOfMemory,
    Played,
    Ready,
    Started,
    Steps,
    Stop,
    Stuck,
    read_answer,
    write,
)

START_S = 12.0
"""For the child to start, before the reader's file is looked at."""

WHOLE_S = 15.0
"""For everything."""

SILENCE_S = 5.0
"""Longer than the child's own watchdog needs: it cannot even run."""

OUTPUT_BYTES = 1 << 20
OUTPUT_S = 1.0
"""How long what a child printed is waited for once it has ended; a process that it left may hold the pipe."""

SHOWN_BYTES = 4096


class TookTooLong(CheckFailed):
    """There was no end of it; whether that is the reader's doing, their file's speed tells."""


STOPPED: Mapping[str, Sentence] = {
    "not-loaded": Sentence("{why}"),
    "confused": Sentence("what came back is no whole transcript; does it use files that it has not opened?"),
    "floods": Sentence("it printed more than {megabytes} MB, and the check was stopped"),
    "stuck": Sentence("it did not come to an end for some seconds while it was loaded (line {line})"),
    "slow": Sentence("it took more than {seconds:.0f} s, and the check was stopped"),
    "killed": Sentence("the process ended by {signal}"),
    "exits": Sentence("it ended the process (status {status}) before the check was over"),
    "memory": Sentence("it used more than {megabytes} MB of memory, and the check was stopped"),
}


class ReaderStopped(Exception):
    """The reader's file ended the check: how, as a kind of ``STOPPED``, and at which job (0: while it was
    loaded).
    """

    def __init__(self, kind: str, number: int = 0, **values: object) -> None:
        super().__init__(kind)
        self.kind = kind
        self.number = number
        self.values = values

    @property
    def sentence(self) -> Sentence:
        return STOPPED[self.kind].with_values(**self.values)


class Runner:
    """One child, for one reader's file and the exercise of that key."""

    def __init__(self, file: Path, key: str) -> None:
        self._nonce = secrets.token_hex(16)
        self._end = time.monotonic() + WHOLE_S
        self._answers: queue.Queue[Answer | None] = queue.Queue()
        self._jobs: queue.Queue[Job] = queue.Queue()
        self._output = bytearray()
        self._printed = 0
        self._waiting_for: list[int] = []
        self._count = 0
        self._started = False
        self._ready = False
        self._garbled = False
        jobs_out, jobs_in = os.pipe()
        answers_out, answers_in = os.pipe()
        try:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-P",
                    "-m",
                    f"{__package__}.child",
                    str(file),
                    str(jobs_out),
                    str(answers_in),
                    key,
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(jobs_out, answers_in),
                start_new_session=True,
                env={
                    **os.environ,
                    "PYTHONDONTWRITEBYTECODE": "1",
                    "PYTHONUNBUFFERED": "1",  # what was printed is there when the verdict is
                    "PYTHONIOENCODING": "utf-8:replace",
                    "PYTHONHASHSEED": "0",
                },
            )
        except OSError as error:
            for pipe in (jobs_in, answers_out):
                os.close(pipe)
            why = reason_of(error)
            raise CheckFailed(
                Sentence("no process could be started for your file: {why}", why=why)
            ) from error
        finally:
            os.close(jobs_out)
            os.close(answers_in)
        assert self._process.stdout is not None
        self._output_reader = threading.Thread(
            target=self._read_output, args=(self._process.stdout,), daemon=True
        )
        self._output_reader.start()
        for work, stream in (
            (self._write_jobs, os.fdopen(jobs_in, "wb")),
            (self._read_answers, os.fdopen(answers_out, "rb")),
        ):
            threading.Thread(target=work, args=(stream,), daemon=True).start()

    def output(self) -> str:
        """How what the reader's file printed begins, with dots if there is more. Ends the child: what it
        printed may come behind its answers, and is all there only once it has ended.
        """
        self.close()
        self._output_reader.join(OUTPUT_S)
        text = self._output.decode(errors="replace")
        return text if self._printed <= SHOWN_BYTES else text.rpartition("\n")[0] + "\n..."

    def wait_ready(self) -> None:
        """Until the reader's file is loaded.

        Raises:
            CheckFailed, ReaderStopped: it cannot be.
        """
        while not self._ready:
            self._loading(self._next(SILENCE_S if self._started else START_S))

    def look(self) -> None:
        """Raises what :meth:`wait_ready` would raise, if that is known already."""
        while not self._ready and not self._answers.empty():
            self._loading(self._next(SILENCE_S))

    def _loading(self, answer: Answer) -> None:
        if isinstance(answer, NotLoaded):
            if answer.missing:
                raise CheckFailed(answer.why.sentence())
            raise ReaderStopped("not-loaded", why=answer.why.sentence())
        if isinstance(answer, Started):
            self._started = True
        elif isinstance(answer, Ready) and self._started:
            self._ready = True
        else:
            raise ReaderStopped("confused")

    def send(self, job: Job) -> None:
        self._jobs.put(job)
        if not isinstance(job, Stop):
            self._waiting_for.append(job.number)

    def answer(self) -> Played | Steps:
        """The answer to the oldest job that has none yet. Raises like :meth:`wait_ready`."""
        answer = self._next(SILENCE_S)
        if not isinstance(answer, Played | Steps) or answer.number != self._waiting_for[0]:
            raise ReaderStopped("confused", self._at())
        self._waiting_for.pop(0)
        self._count += 1
        return answer

    def finish(self) -> None:
        """Ends the child, which must say that it has answered every job. Raises like :meth:`wait_ready`."""
        self.send(Stop())
        answer = self._next(SILENCE_S)
        if not isinstance(answer, Done) or answer.answers != self._count:
            raise ReaderStopped("confused")

    def close(self) -> None:
        """Ends the child and all that it has started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._jobs.put(Stop())  # else the thread that writes jobs, and its pipe, would wait for ever

    # -- what comes back

    def _next(self, patience_s: float) -> Answer:
        left = min(patience_s, self._end - time.monotonic())
        try:
            answer = self._answers.get(timeout=max(left, 0.01))
        except queue.Empty:
            raise self._silent() from None
        if answer is None:
            raise self._ended()
        if answer.nonce != self._nonce:
            raise ReaderStopped("confused", self._at())
        if isinstance(answer, Stuck):
            raise ReaderStopped("stuck", answer.number, line=answer.line, function=answer.function)
        if isinstance(answer, OutOfMemory):
            raise ReaderStopped("memory", answer.number, megabytes=MEMORY_BYTES >> 20)
        if isinstance(answer, Broken):
            raise CheckFailed(Sentence("the checker itself failed:\n{trace}", trace=answer.text))
        return answer

    def _silent(self) -> Exception:
        if time.monotonic() >= self._end:
            return TookTooLong(
                Sentence(
                    "the check took longer than {seconds:.0f} s; is this machine very busy?", seconds=WHOLE_S
                )
            )
        if not self._started:
            return CheckFailed(
                Sentence("the check did not get under way in time; is this machine very busy?")
            )
        return ReaderStopped("stuck", self._at(), line=0, function="")

    def _ended(self) -> Exception:
        if self._garbled:
            return ReaderStopped("confused", self._at())
        try:
            status = self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            return ReaderStopped("confused", self._at())
        if self._printed > OUTPUT_BYTES:
            return ReaderStopped("floods", self._at(), megabytes=OUTPUT_BYTES >> 20)
        if not self._started:
            return CheckFailed(
                Sentence(
                    "the check's own process ended at once (status {status}): {output}",
                    status=status,
                    output=self.output()[-300:],
                )
            )
        if status < 0:
            return ReaderStopped("killed", self._at(), signal=signal.Signals(-status).name)
        return ReaderStopped("exits", self._at(), status=status)

    def _at(self) -> int:
        return self._waiting_for[0] if self._ready and self._waiting_for else 0

    # -- threads

    def _write_jobs(self, pipe: BinaryIO) -> None:
        with suppress(OSError), pipe:
            pipe.write(self._nonce.encode("ascii") + b"\n")
            pipe.flush()
            while True:
                job = self._jobs.get()
                write(pipe, job)
                if isinstance(job, Stop):
                    return

    def _read_answers(self, pipe: BinaryIO) -> None:
        with pipe:
            try:
                while (answer := read_answer(pipe)) is not None:
                    self._answers.put(answer)
            except msgspec.DecodeError:
                self._garbled = True
        self._answers.put(None)

    def _read_output(self, pipe: BinaryIO) -> None:
        with pipe:
            while data := os.read(pipe.fileno(), 65536):
                self._printed += len(data)
                self._output += data[: SHOWN_BYTES - len(self._output)]
                if self._printed > OUTPUT_BYTES:
                    with suppress(ProcessLookupError, PermissionError):
                        os.killpg(self._process.pid, signal.SIGKILL)
                    return


@contextmanager
def running(file: Path, key: str) -> Iterator[Runner]:
    """A child for the file and the exercise, which is gone afterwards.

    Raises:
        CheckFailed: this platform has no such processes.
    """
    if sys.platform == "win32":
        raise CheckFailed(Sentence("checks need Linux or macOS: on Windows run them in WSL"))
    runner = Runner(file, key)
    try:
        yield runner
    finally:
        runner.close()
