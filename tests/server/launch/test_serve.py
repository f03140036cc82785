"""``serve`` with the model that ships: the whole server, as a user starts it."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from minisgl_tutor.recording import RequestLine, StepLine, read_recording
from minisgl_tutor.resources import model_dir

Start = Callable[..., Any]

# In float32 a text does not depend on what else was in its batch.
SERVE = ("-m", "minisgl_tutor", "serve", "--port", "0", "--threads", "1", "--dtype", "float32")
PROMPTS = [f"{n} times {n} is" for n in range(8)]


def text_of(events: list[str]) -> str:
    """The joined text of a stream that came to its end."""
    assert events[-1] == "data: [DONE]"
    chunks = [json.loads(event.removeprefix("data: ")) for event in events[:-1]]
    return "".join(choice["text"] for chunk in chunks for choice in chunk["choices"])


def error_of(event: str) -> str:
    message: str = json.loads(event.removeprefix("data: "))["error"]["message"]
    return message


def test_a_served_model_from_the_first_to_the_last_process(start_server: Start, tmp_path: Path) -> None:
    """Streamed and whole answers, a client that leaves, the chat command, a recording, and a clean end."""
    recorded = tmp_path / "run.jsonl"
    server = start_server(*SERVE, "--num-tokenizer", "2", "--record", str(recorded)).wait_ready()
    assert server.process.stdout.readline() == f"Recording to {recorded}\n"
    for name in (
        "minisgl-TP0-scheduler",
        "minisgl-detokenizer-0",
        "minisgl-tokenizer-0",
        "minisgl-tokenizer-1",
    ):
        server.worker(name)

    with ThreadPoolExecutor(len(PROMPTS)) as pool:
        whole = [a.json()["choices"][0]["text"] for a in pool.map(server.ask, PROMPTS)]
        streams = list(pool.map(lambda prompt: server.stream(prompt, max_tokens=16), PROMPTS))
        streamed = [text_of([stream.first, *stream.rest()]) for stream in streams]
    assert [text[: len(short)] for text, short in zip(streamed, whole, strict=True)] == whole

    server.stream().leave()
    chat = [sys.executable, "-m", "minisgl_tutor", "chat", "--url", server.url, "What is a KV cache?"]
    answer = subprocess.run(chat, capture_output=True, text=True, check=True)
    assert "cache" in answer.stdout

    stream = server.stream(max_tokens=400)
    server.signal(signal.SIGINT)
    assert "stopping" in error_of(stream.rest()[-1])
    assert server.wait_end() == 0
    assert server.log.splitlines()[-2] == "stopped"
    assert server.log.endswith(f" trace {recorded}`\n")
    recording = read_recording(recorded)
    assert sum(isinstance(line, RequestLine) for line in recording.lines) == 2 * len(PROMPTS) + 3
    assert any(isinstance(line, StepLine) for line in recording.lines)


def test_kill_9_of_the_scheduler_in_mid_stream(start_server: Start) -> None:
    server = start_server(*SERVE, "--num-tokenizer", "0").wait_ready()
    streams = [server.stream(max_tokens=400) for _ in range(4)]
    server.worker("minisgl-TP0-scheduler").kill()
    for stream in streams:
        assert "minisgl-TP0-scheduler was ended by SIGKILL" in error_of(stream.rest()[-1])
    assert server.wait_end() == 1


def test_kill_9_of_the_parent_while_the_engine_computes(start_server: Start) -> None:
    server = start_server(*SERVE).wait_ready()
    stream = server.stream(max_tokens=400)
    server.parent.kill()
    with pytest.raises(httpx.HTTPError):
        stream.rest()
    assert server.wait_end() == -signal.SIGKILL


def test_the_end_of_the_shell_is_the_end_of_the_server(start_server: Start) -> None:
    server = start_server(*SERVE, "--shell", stdin="What is a KV cache?\n/exit\n").wait_ready()
    shown = server.process.stdout.read()
    assert "cache" in shown
    assert server.wait_end() == 0


def test_a_model_that_cannot_be_had_is_one_sentence(start_server: Start, tmp_path: Path) -> None:
    """And options without a command are those of serve (C2.1)."""
    server = start_server("-m", "minisgl_tutor", "--port", "0", "--model", str(tmp_path / "nowhere"))
    assert server.wait_end() == 1
    sentence = f"Error: There is no file or directory {tmp_path / 'nowhere'}; give --model"
    assert server.log.splitlines()[-1].startswith(sentence)
    assert "Traceback" not in server.log


def test_a_model_that_cannot_be_loaded_is_one_sentence(start_server: Start, tmp_path: Path) -> None:
    shutil.copytree(model_dir(), tmp_path, dirs_exist_ok=True)
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    server = start_server(*SERVE, "--model", str(tmp_path))
    assert server.wait_end() == 1
    assert server.log.splitlines()[-1].startswith(f"Error: {weights} is damaged")
    assert "Traceback" not in server.log
