"""Servers that are started as a reader starts them, and kept for the commands that talk to one."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from types import TracebackType

from minisgl_tutor.server.config import ServerArgs

PORT = ServerArgs.port
LAST_LINE = "Ctrl+C"
"""In the last line that a server prints before it waits for requests, in any language."""

PATIENCE_S = 60


class Server:
    """``output``: what it printed until it was ready, with the port that it has by default."""

    def __init__(self, words: list[str], environment: Mapping[str, str]) -> None:
        """Returns once it takes requests.

        Raises:
            RuntimeError: it ended instead. The message is what it printed.
        """
        self.words = words
        self.port = free_port()
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "minisgl_tutor", *words, "--port", str(self.port)],
            env=dict(environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.process.stdout is not None
        lines = []
        for line in self.process.stdout:
            lines.append(line)
            if LAST_LINE in line:
                break
        else:
            self.process.stdout.close()
            self.process.wait(PATIENCE_S)
            raise RuntimeError("".join(lines))
        self.output = "".join(lines).replace(f":{self.port}", f":{PORT}")
        self._behind: list[str] = []
        self._reader = threading.Thread(target=self._behind.extend, args=(self.process.stdout,))
        self._reader.start()

    def stop(self) -> str:
        """Ends it by Ctrl+C; what it printed since it was ready.

        Raises:
            RuntimeError: it did not end well.
        """
        self.process.send_signal(signal.SIGINT)
        status = self.process.wait(PATIENCE_S)
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()
        printed = "".join(self._behind)
        if status != 0:
            raise RuntimeError(f"the server ended with status {status}:\n{printed}")
        return printed


class Servers:
    """At most one server for each language. A context: at its end they are stopped."""

    def __init__(self) -> None:
        self._by_language: dict[str, Server] = {}

    def started(self, words: list[str], language: str, environment: Mapping[str, str]) -> str:
        """What ``serve`` printed when the server with these arguments was started, now or before."""
        running = self._by_language.get(language)
        if running is None or running.words != words:
            if running is not None:
                self._by_language.pop(language).stop()
            running = self._by_language[language] = Server(words, environment)
        return running.output

    def any(self, language: str, environment: Mapping[str, str]) -> Server:
        """The one that runs; with none, one that is started as the README does."""
        if language not in self._by_language:
            self.started(["serve"], language, environment)
        return self._by_language[language]

    def __enter__(self) -> Servers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._by_language:
            self._by_language.popitem()[1].stop()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
