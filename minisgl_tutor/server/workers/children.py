"""The parent's view of its workers: start them, wait until all are ready, notice a death, end them."""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Callable
from multiprocessing import Pipe, connection, resource_tracker
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

from ...language import Sentence
from ...language.wire import unpacked
from .addresses import choose_directory, make_directory, remove_directory
from .errors import StartError
from .pulse import Pulse, Tell, in_sums
from .signals import StopSignals
from .worker import FAILED, LEFT_TO_PARENT, LONGEST_REPORT, READY, Reporter, SilentReporter, Worker

END_TIMEOUT_S = 2.0

logger = logging.getLogger(__name__)


class Children:
    """The workers of one server, in the order of their creation, and a directory that they share.

    Leaving the context ends the workers and removes the directory. If this process
    is killed, each worker does both, which is why the directory is made only once
    there is a worker. ``tell`` chooses what heartbeats tell of single requests.
    """

    def __init__(self, log_level: str, tell: Tell = in_sums) -> None:
        self.directory = choose_directory()
        self._log_level = log_level
        self._tell = tell
        self._workers: list[Worker] = []
        self._reports: dict[Connection, Worker] = {}
        self._awaited: set[Worker] = set()
        self.beats: dict[str, Connection] = {}
        """Where each worker's heartbeats come in."""

    @property
    def names(self) -> list[str]:
        """Those that report when they are ready."""
        return [worker.name for worker in self._workers if worker in self._awaited]

    @property
    def sentinels(self) -> dict[int, Worker]:
        """What becomes readable when a worker has died."""
        return {worker.sentinel: worker for worker in self._workers}

    def start(self, name: str, target: Callable[..., None], *args: Any) -> None:
        """Starts ``target(*args, ready)`` in a worker of this name. It is not ready yet (C2.17)."""
        self._awaited.add(self._start(name, Reporter, target, *args))

    def start_silent(self, name: str, target: Callable[..., None], *args: Any) -> None:
        """The same for a worker whose readiness another one waits for: it reports only a failure."""
        self._start(name, SilentReporter, target, *args)

    def _start(self, name: str, report_by: type[Reporter], target: Callable[..., None], *args: Any) -> Worker:
        reports, pipe = Pipe(duplex=False)
        reporter = report_by(pipe)
        beats, beat_pipe = Pipe(duplex=False)
        pulse = Pulse(beat_pipe, self._tell)
        worker = Worker(name, target, args, reporter, pulse, self.directory, self._log_level)
        # The tracker that multiprocessing keeps unblocks signals when it starts, so it starts first.
        resource_tracker.ensure_running()
        # Blocked across the start, a Ctrl+C cannot hit a child before it has learnt to ignore it.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, LEFT_TO_PARENT)
        try:
            worker.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        reporter.close()
        pulse.close()
        make_directory(self.directory)
        self._workers.append(worker)
        self._reports[reports] = worker
        self.beats[name] = beats
        return worker

    def wait_ready(
        self, signals: StopSignals | None = None, on_ready: Callable[[str], None] = lambda name: None
    ) -> signal.Signals | None:
        """Waits until every worker that does so has reported ready (C2.18, C2.20), or for a signal.

        Returns:
            The signal, if one came first.

        Raises:
            StartError: a worker failed, or died; the message is its own sentence.
        """
        waiting = dict(self._reports)
        while not self._awaited.isdisjoint(waiting.values()):
            watched = [] if signals is None else [signals.fileno()]
            found = connection.wait([*waiting, *self.sentinels, *watched])
            if signals is not None and (came := signals.take()):
                return came[0]
            for sentinel, worker in self.sentinels.items():
                if sentinel in found and worker not in waiting.values():
                    raise StartError(
                        Sentence(
                            "{worker} {how} while the server was starting",
                            worker=worker.name,
                            how=how_it_ended(worker),
                        )
                    )
            # After the deaths: a worker that had only one thing to do may be ready and gone by now.
            for pipe in found:
                if isinstance(pipe, Connection) and pipe in waiting:
                    _read_report(pipe, waiting[pipe])
                    on_ready(waiting.pop(pipe).name)
        return None

    def wait_end(self, signals: StopSignals) -> str | None:
        """Waits until a worker has died, and says how; or for a signal, and says nothing."""
        while True:
            found = connection.wait([*self.sentinels, signals.fileno()])
            if signals.take():
                return None
            for sentinel, worker in self.sentinels.items():
                if sentinel in found:
                    return f"{worker.name} {how_it_ended(worker)}"

    def kill(self) -> None:
        """Ends all workers this moment."""
        for worker in self._workers:
            worker.kill()

    def __enter__(self) -> Children:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._workers:
            worker.terminate()
        deadline = time.monotonic() + END_TIMEOUT_S
        for worker in self._workers:
            worker.join(max(0.0, deadline - time.monotonic()))
            if worker.is_alive():
                logger.warning("%s did not end in %g s and is killed", worker.name, END_TIMEOUT_S)
                worker.kill()
                worker.join()
        for pipe in [*self._reports, *self.beats.values()]:
            pipe.close()
        remove_directory(self.directory)


def how_it_ended(worker: Worker) -> Sentence:
    """The end of a process in words."""
    worker.join(END_TIMEOUT_S)
    code = worker.exitcode
    if code is not None and code < 0:
        return Sentence("was ended by {signal}", signal=signal.Signals(-code).name)
    return Sentence("ended with status {code}", code=code)


def _read_report(pipe: Connection, worker: Worker) -> None:
    try:
        report = pipe.recv_bytes(LONGEST_REPORT)
    except EOFError:
        raise StartError(
            Sentence("{worker} {how} before it was ready", worker=worker.name, how=how_it_ended(worker))
        ) from None
    if report != READY:
        raise StartError(unpacked(report.removeprefix(FAILED)))
