"""Servers as real processes, each with its own temporary directory, so that what is left behind shows."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import psutil
import pytest

READY_LINE = re.compile(r"minisgl-tutor is ready at (http://\S+), serving (\S+)\.")
DEADLINE_S = 60.0


def poll(condition: Callable[[], object], what: str) -> None:
    """Looks until the condition holds; fails at the deadline."""
    end = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < end, f"not within {DEADLINE_S:g} s: {what}"
        time.sleep(0.02)


def is_gone(process: psutil.Process) -> bool:
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _hear_sighup() -> None:
    """Whatever started the tests may ignore it, as nohup does; children would, too."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


class Server:
    """A server process. ``url`` and ``model`` are known once ``wait_ready`` has returned."""

    def __init__(self, command: list[str], directory: Path, stdin: str | None) -> None:
        self.directory = directory
        self._log_file = directory.with_suffix(".log")
        with self._log_file.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**os.environ, "TMPDIR": str(directory)},
                start_new_session=True,
                preexec_fn=_hear_sighup,
            )
        if self.process.stdin is not None:
            self.process.stdin.write(stdin or "")
            self.process.stdin.close()
        self.parent = psutil.Process(self.process.pid)
        self._family: set[psutil.Process] = {self.parent}
        self.url = ""
        self.model = ""

    @property
    def log(self) -> str:
        return self._log_file.read_text()

    def wait_ready(self) -> Server:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = READY_LINE.search(line)
        assert found, f"no ready line but {line!r}; the log: {self.log}"
        self.url, self.model = found.groups()
        self.family()
        return self

    def family(self) -> set[psutil.Process]:
        """All processes that the server has had so far, the tracker of multiprocessing included."""
        self._family |= {self.parent, *self.parent.children(recursive=True)}
        return self._family

    def worker(self, name: str) -> psutil.Process:
        """The worker whose command line, as ``ps`` shows it, is ``name``."""
        (found,) = [process for process in self.family() if process.cmdline()[:1] == [name]]
        return found

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait_end(self) -> int:
        """The exit status, after checking that no process and no file are left."""
        status = self.process.wait(DEADLINE_S)
        poll(lambda: all(map(is_gone, self._family)), f"the end of {self._family}")
        poll(lambda: not list(self.directory.iterdir()), "the removal of the socket directory")
        return status

    def stream(self, prompt: str = "for ever", max_tokens: int = 1000) -> Stream:
        body = {"model": self.model, "prompt": prompt, "stream": True, "ignore_eos": True}
        return Stream(self.url, {**body, "max_tokens": max_tokens})

    def ask(self, prompt: str, max_tokens: int = 16) -> httpx.Response:
        body = {"model": self.model, "prompt": prompt, "max_tokens": max_tokens}
        return httpx.post(f"{self.url}/v1/completions", json=body, trust_env=False, timeout=DEADLINE_S)

    def discard(self) -> None:
        """Ends what a failed test left."""
        for process in self._family if is_gone(self.parent) else self.family():
            if not is_gone(process):
                process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        shutil.rmtree(self.directory, ignore_errors=True)
        self._log_file.unlink()


class Stream:
    """A client that has read the first event of its answer."""

    def __init__(self, url: str, body: dict[str, object]) -> None:
        self._stack = ExitStack()
        client = self._stack.enter_context(httpx.Client(timeout=DEADLINE_S, trust_env=False))
        response = self._stack.enter_context(client.stream("POST", f"{url}/v1/completions", json=body))
        assert response.status_code == 200
        self._lines = response.iter_lines()
        self.first = next(self._lines)

    def rest(self) -> list[str]:
        """The events up to the end of the connection."""
        with self._stack:
            return [line for line in self._lines if line]

    def leave(self) -> None:
        self._stack.close()


@pytest.fixture
def until() -> Callable[[Callable[[], object], str], None]:
    return poll


Start = Callable[..., Server]


@contextmanager
def starting() -> Iterator[Start]:
    """Gives what starts a program with Python; what is still there at the end is ended."""
    servers: list[Server] = []

    def start(*arguments: str, stdin: str | None = None) -> Server:
        # Directly below /tmp: the path of a unix socket must be short.
        directory = Path(tempfile.mkdtemp(prefix="launch-", dir="/tmp"))
        servers.append(Server([sys.executable, *arguments], directory, stdin))
        return servers[-1]

    try:
        yield start
    finally:
        for server in servers:
            server.discard()


@pytest.fixture
def start_server() -> Iterator[Start]:
    with starting() as start:
        yield start


@pytest.fixture(scope="module")
def start_module_server() -> Iterator[Start]:
    """For tests that share one server."""
    with starting() as start:
        yield start
