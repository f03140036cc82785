"""A reader's terminal of 80 columns, for the command lines of the chapters.

Commands of this program run in this process, which is quicker than a new Python for each. A server is a
real one, on a free port: its commands are typed with the port that the pages name, and shown with it.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import signal
import subprocess
import sys
import sysconfig
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import psutil
from full_screen import first_screen
from running_server import PORT, Servers

from minisgl_tutor.cli.main import main
from minisgl_tutor.language.choice import VARIABLE, Language

ROOT = Path(__file__).resolve().parent.parent
NAME = "minisgl-tutor"
COLUMNS, ROWS = 80, 24
NOT_PASSED_ON = re.compile("MINISGL_TUTOR|FORCE_COLOR|TTY_")
"""What would make this program, or the library that it prints with, behave otherwise."""


@dataclass(frozen=True)
class Typed:
    """What came of a command line."""

    status: int
    output: str


def heed_ctrl_c() -> None:
    """In a new process: whoever runs in the background of a shell ignores Ctrl+C, and passes that on."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Terminal:
    """``folder`` is where the reader works, and writes; commands that only look, such as grep, run in the
    checkout.
    """

    def __init__(self, language: Language, folder: Path, servers: Servers) -> None:
        self._language = language
        self._folder = folder
        self._servers = servers
        self._environment = {
            **{name: value for name, value in os.environ.items() if not NOT_PASSED_ON.match(name)},
            VARIABLE: language,
            "COLUMNS": str(COLUMNS),
            "LINES": str(ROWS),
            "PATH": f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "PYTHONUNBUFFERED": "1",
            "TERM": "xterm-256color",
        }

    def type(self, line: str, interrupted: bool = False) -> Typed:
        """Runs a command line to its end; of a server, until it is ready. Another program may be
        ``interrupted`` by Ctrl+C, once its first line has come.

        Raises:
            OSError: there is no such program.
        """
        words = shlex.split(line, comments=True)
        words[0] = words[0].removeprefix(".venv/bin/")
        if words[0] != NAME:
            return self._shell(line, interrupted)
        if words[1] == "serve":
            return Typed(0, self._servers.started(words[1:], self._language, self._environment))
        if "--step" in words:
            program = [sys.executable, "-P", "-m", "minisgl_tutor", *words[1:]]
            return Typed(0, first_screen(program, self._folder, self._environment, COLUMNS, ROWS))
        if words[1] == "chat":
            words += ["--url", f"http://127.0.0.1:{self._port()}"]
        return self._here(words[1:])

    def _here(self, arguments: list[str]) -> Typed:
        printed = io.BytesIO()
        out = io.TextIOWrapper(printed, "utf-8", write_through=True)
        status: object = None
        with (
            chdir(self._folder),
            patch.dict(os.environ, self._environment, clear=True),
            redirect_stdout(out),
            redirect_stderr(out),
        ):
            try:
                main(arguments)
            except SystemExit as end:
                status = end.code
        return Typed(int(str(status or 0)), printed.getvalue().decode())

    def _shell(self, line: str, interrupted: bool) -> Typed:
        port = ""
        if str(PORT) in line:
            port = str(self._port())
            line = line.replace(f":{PORT}", f":{port}")
        # A terminal shows no progress of curl's, and this is not the only server on the machine.
        line = re.sub(r"^curl ", "curl --silent ", line)
        line = re.sub(r"^ps -u \S+ \S+", lambda _: f"ps -p {','.join(map(str, self._processes()))}", line)
        process = subprocess.Popen(
            ["bash", "-c", line],
            cwd=ROOT,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=heed_ctrl_c,
        )
        assert process.stdout is not None
        with process:
            output = process.stdout.readline()
            if interrupted:
                os.killpg(process.pid, signal.SIGINT)
            output += process.stdout.read()
        output += "^C\n" if interrupted else ""
        return Typed(process.returncode, output.replace(f":{port}", f":{PORT}") if port else output)

    def _port(self) -> int:
        return self._servers.any(self._language, self._environment).port

    def _processes(self) -> list[int]:
        server = psutil.Process(self._servers.any(self._language, self._environment).process.pid)
        return [server.pid, *(child.pid for child in server.children(recursive=True))]
