#!/usr/bin/env python3
"""Runs well-known clients of the OpenAI API against `serve` on the shipped model.

    .venv/bin/python scripts/check_clients.py [--into FOLDER]

langchain-openai, litellm and llm come into a virtual environment of their own, which takes some minutes;
with --into it stays, and a second run finds it. At the end the server must keep nothing of any request.
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
from pathlib import Path

CLIENTS = ["openai==3.57.0", "langchain-openai==1.7.4", "litellm==1.110.2", "llm==0.36"]
SCRIPTS = Path(__file__).parent / "clients"
PATIENCE_S = 30


def install(folder: Path) -> Path:
    """The environment's executables."""
    executables = folder / "bin"
    if not (executables / "litellm").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([executables / "pip", "install", "--quiet", *CLIENTS], check=True)
    return executables


def ask_with_llm(executables: Path, url: str, home: Path) -> str:
    """What the command `llm` prints."""
    model = {"model_id": "tutor", "model_name": "minisgl-tutor", "api_base": url}
    (home / "extra-openai-models.yaml").write_text(json.dumps([model]))
    command = [executables / "llm", "-m", "tutor", "What is a KV cache?"]
    environment = {**os.environ, "LLM_USER_PATH": str(home), "OPENAI_API_KEY": "none"}
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


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
        command = [executables / "python", script, url]
        failed = subprocess.run(command, env=environment, check=False).returncode
        print(f"{script.stem}: {'failed' if failed else 'ok'}", flush=True)
        wrong += [script.stem] * bool(failed)
    said = ask_with_llm(executables, url, home)
    print(f"llm: {said.strip()}")
    if "attention" not in said:
        wrong.append("llm")
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
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            assert process.stdout is not None
            found = re.search(r"http://[^\s,]+", process.stdout.readline())
            if found is None:
                raise SystemExit("the server did not start")
            wrong = check(executables, found[0], Path(temporary))
        finally:
            process.terminate()
            process.wait()
    print("\n".join(wrong) or "every client was served")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
