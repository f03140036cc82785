#!/usr/bin/env python3
"""Runs well-known clients of the OpenAI API against `serve` on the shipped model.

    .venv/bin/python scripts/check_clients.py [--into FOLDER]

They come into a virtual environment of their own, in the versions of scripts/clients/requirements.txt; with
--into it stays, and a second run finds it. At the end the server must keep nothing of any request.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from subprocess import PIPE

SCRIPTS = Path(__file__).parent / "clients"
PATIENCE_S = 30
LONGEST_S = 300
"""What one client may take, its own start included."""


def install(folder: Path) -> Path:
    """The environment's executables."""
    executables = folder / "bin"
    if not (executables / "litellm").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        wanted = ["--no-compile", "-r", SCRIPTS / "requirements.txt"]
        subprocess.run([executables / "pip", "install", "--quiet", *wanted], check=True)
    return executables


def runs(command: Sequence[str | Path], environment: Mapping[str, str]) -> tuple[bool, str]:
    """Whether a command came to a good end in time, and what it printed. What it complains of is shown."""
    try:
        ended = subprocess.run(command, env=environment, stdout=PIPE, text=True, timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        print(f"no end after {LONGEST_S} s: {' '.join(map(str, command))}", file=sys.stderr)
        return False, ""
    return ended.returncode == 0, ended.stdout


def ask_with_llm(executables: Path, url: str, home: Path) -> tuple[bool, str]:
    """Whether the command `llm` came to a good end, and what it printed."""
    model = {"model_id": "tutor", "model_name": "minisgl-tutor", "api_base": url}
    (home / "extra-openai-models.yaml").write_text(json.dumps([model]))
    command = [executables / "llm", "-m", "tutor", "What is a KV cache?"]
    environment = {**os.environ, "LLM_USER_PATH": str(home), "OPENAI_API_KEY": "none"}
    return runs(command, environment)


def kept(server: str) -> int:
    """Of how many requests the server keeps something, once nobody asks any more."""
    count = -1
    end = time.monotonic() + PATIENCE_S
    while count and time.monotonic() < end:
        with urllib.request.urlopen(f"{server}/health") as answer:
            count = json.load(answer)["requests"]
        time.sleep(0.1)
    return count


def check(executables: Path, server: str, home: Path) -> list[str]:
    """What is wrong."""
    url = f"{server}/v1"
    environment = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}  # it would ask the network
    wrong = []
    for script in sorted(SCRIPTS.glob("with_*.py")):
        good, _ = runs([executables / "python", script, url], environment)
        print(f"{script.stem}: {'ok' if good else 'failed'}", flush=True)
        wrong += [f"{script.stem} failed: its complaint is above"] * (not good)
    good, said = ask_with_llm(executables, url, home)
    print(f"llm: {said.strip()}")
    if not good or "attention" not in said:
        wrong.append("llm has no answer, or another than it should")
    if count := kept(server):
        wrong.append(f"the server keeps something of {count} requests")
    return wrong


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--into", type=Path, help="where the clients' environment is, or is to be")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        executables = install(given.into or Path(temporary) / "venv")
        command = [sys.executable, "-m", "minisgl_tutor", "serve", "--port", "0"]
        log = Path(temporary) / "log"
        with log.open("w") as file:
            process = subprocess.Popen(command, stdout=PIPE, stderr=file, text=True)
        try:
            assert process.stdout is not None
            found = re.search(r"http://[^\s,]+", process.stdout.readline())
            if found is None:
                raise SystemExit(f"the server did not start:\n{log.read_text()}")
            wrong = check(executables, found[0], Path(temporary))
        finally:
            process.terminate()
            process.wait()
        if wrong:
            print("the server's log:", log.read_text(), sep="\n")
    print("\n".join(wrong) or "every client was served")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
