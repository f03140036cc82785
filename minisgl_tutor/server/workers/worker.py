"""One child process: it reports when it is ready or why it failed, and never outlives its parent."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from setproctitle import setproctitle

from ...language import Sentence, sentence_of
from ...language.wire import packed
from .addresses import make_directory, remove_directory
from .logs import configure_logging
from .memory import freeze_memory
from .pulse import Pulse

READY = b"ready"
FAILED = b"failed "
LONGEST_REPORT = 4096
LEFT_TO_PARENT = {signal.SIGINT, signal.SIGHUP}

logger = logging.getLogger(__name__)

Ready = Callable[..., None]
"""Called by a worker's target once it can take messages; takes what ``Pulse.start`` does."""


class Reporter:
    """A worker's end of the pipe to its parent: ``READY``, or ``FAILED`` and a sentence, packed."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self.is_ready = False

    def ready(self) -> None:
        self._pipe.send_bytes(READY)
        self.is_ready = True

    def failed(self, sentence: Sentence) -> None:
        with suppress(BrokenPipeError):  # the parent is gone, which may be why
            self._pipe.send_bytes(FAILED + packed(sentence, LONGEST_REPORT - len(FAILED)))

    def close(self) -> None:
        self._pipe.close()


class SilentReporter(Reporter):
    """Of a worker whose readiness another worker reports."""

    def ready(self) -> None:
        self.is_ready = True


class Readiness:
    """A ``Ready``: the worker's heart begins to beat, and its parent is told."""

    def __init__(self, reporter: Reporter, pulse: Pulse) -> None:
        self._reporter = reporter
        self._pulse = pulse

    def __call__(self, **watched: Callable[[], Any]) -> None:
        freeze_memory()
        self._pulse.start(**watched)
        self._reporter.ready()


class Worker(SpawnProcess):
    """A spawned process that runs ``target(*args, ready)``, named alike in Python and in ``ps`` (C2.13).

    Whatever ends the target ends the process at once, with status 1: a worker
    half dead would be worse than a dead one, which its parent notices. Ctrl+C
    and a terminal's end reach all processes at once and are left to the parent;
    the parent's end, even by ``kill -9``, ends the worker and removes ``directory``.
    """

    def __init__(
        self,
        name: str,
        target: Callable[..., None],
        args: tuple[Any, ...],
        reporter: Reporter,
        pulse: Pulse,
        directory: Path,
        log_level: str,
    ) -> None:
        super().__init__(name=name, target=target, args=(*args, Readiness(reporter, pulse)))
        self._reporter = reporter
        self._directory = directory
        self._log_level = log_level

    def run(self) -> None:
        for number in LEFT_TO_PARENT:
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, LEFT_TO_PARENT)
        setproctitle(self.name)
        configure_logging(self._log_level)
        try:
            # In this order: a worker that has made the directory is there to remove it.
            make_directory(self._directory)
            _follow_parent(self._directory)
            super().run()
        except BaseException as error:
            self._explain(error)
        if not _parent().is_alive():
            remove_directory(self._directory)
        _end_now()

    def _explain(self, error: BaseException) -> None:
        if self._reporter.is_ready:
            logger.critical("cannot go on", exc_info=error)
            return
        if self._log_level == "debug":
            traceback.print_exception(error)
        self._reporter.failed(self._sentence(error))

    def _sentence(self, error: BaseException) -> Sentence:
        """What went wrong. Our own errors say it; of others the place and the type help."""
        if type(error).__module__.startswith("minisgl_tutor") and str(error):
            return sentence_of(error)
        kind = type(error).__name__
        return Sentence("{worker}: {kind}: {reason}", worker=self.name, kind=kind, reason=str(error))


def _parent() -> BaseProcess:
    parent = multiprocessing.parent_process()
    assert parent is not None
    return parent


def _follow_parent(directory: Path) -> None:
    def end_after_parent() -> None:
        _parent().join()
        remove_directory(directory)
        os._exit(1)

    threading.Thread(target=end_after_parent, name="parent watch", daemon=True).start()


def _end_now() -> None:
    """Without the usual tear-down, which waits for threads and for sockets with unsent messages."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(1)
