"""Real clients against `serve` on the shipped model: the openai package, curl, a raw socket."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from minisgl_tutor.cli.main import main

QUESTION = [{"role": "user", "content": "What is a KV cache?"}]
SERVE = ["-m", "minisgl_tutor", "serve", "--port", "0", "--threads", "1", "--max-seq-len", "256"]


@pytest.fixture(scope="module")
def server(start_module_server: Callable[..., Any]) -> Any:
    return start_module_server(*SERVE).wait_ready()


@pytest.fixture
def client(server: Any) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client:
        yield client


def test_openai_streaming_and_not_say_the_same(client: openai.OpenAI) -> None:
    whole = client.chat.completions.create(model="any", messages=QUESTION, max_tokens=60)
    answer = whole.choices[0]
    assert "cache" in answer.message.content.lower()
    assert (answer.message.role, answer.finish_reason) == ("assistant", "stop")
    assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens
    assert whole.id.startswith("chatcmpl-") and whole.object == "chat.completion"

    stream = client.chat.completions.create(
        model="any", messages=QUESTION, max_tokens=60, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks[:-1]) == answer.message.content
    assert chunks[0].choices[0].delta.role == "assistant" and chunks[1].choices[0].delta.role is None
    assert [chunk.choices[0].finish_reason for chunk in chunks[:-1]][-2:] == [None, "stop"]
    assert chunks[-1].choices == [] and chunks[-1].usage.completion_tokens == whole.usage.completion_tokens
    assert len({chunk.id for chunk in chunks}) == 1


def test_openai_completions_and_length(client: openai.OpenAI) -> None:
    whole = client.completions.create(model="any", prompt="A KV cache is", max_tokens=4)
    assert whole.choices[0].finish_reason == "length" and whole.usage.completion_tokens == 4
    chunks = client.completions.create(model="any", prompt="A KV cache is", max_tokens=4, stream=True)
    assert "".join(chunk.choices[0].text for chunk in chunks) == whole.choices[0].text


def test_openai_choices_stop_strings_and_logprobs(client: openai.OpenAI) -> None:
    """Through real processes: the detokenizer ends an answer, and the scheduler is told."""
    plain = client.chat.completions.create(model="any", messages=QUESTION)
    text = plain.choices[0].message.content
    asked = {"model": "any", "messages": QUESTION, "stop": [text[9:14]], "n": 2, "logprobs": True}
    whole = client.chat.completions.create(**asked, top_logprobs=1)
    before = text[: text.index(text[9:14])]
    assert [choice.message.content for choice in whole.choices] == [before, before]
    assert {choice.finish_reason for choice in whole.choices} == {"stop"}
    assert whole.usage.completion_tokens < 2 * plain.usage.completion_tokens
    for choice in whole.choices:
        entries = choice.logprobs.content
        assert b"".join(bytes(entry.bytes) for entry in entries).decode().startswith(before)
        assert all(entry.logprob == entry.top_logprobs[0].logprob for entry in entries)  # it is greedy
    texts = {0: "", 1: ""}
    for chunk in client.chat.completions.create(**asked, stream=True):
        texts[chunk.choices[0].index] += chunk.choices[0].delta.content or ""
    assert texts == {0: before, 1: before}


def test_openai_sees_errors_as_its_own_exceptions(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="max_tokens"):
        client.chat.completions.create(model="any", messages=QUESTION, max_tokens=0)
    with pytest.raises(openai.BadRequestError, match="'response_format'"):
        client.chat.completions.create(
            model="any", messages=QUESTION, response_format={"type": "json_object"}
        )
    too_long = [{"role": "user", "content": "long " * 300}]
    for stream in (False, True):
        with pytest.raises(openai.BadRequestError, match="context length") as raised:
            client.chat.completions.create(model="any", messages=too_long, stream=stream)
        assert raised.value.code == "context_length_exceeded"


def test_openai_lists_the_model(client: openai.OpenAI) -> None:
    (model,) = client.models.list().data
    assert model.id == "minisgl-tutor"


def test_bench_serve_counts_every_token(
    server: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--requests", "6", "--concurrency", "3", "--input", "5-20", "--max-tokens", "24", "--ignore-eos"]
    files = ["--json", str(tmp_path / "run.json"), "--plot", str(tmp_path / "run.svg")]
    with pytest.raises(SystemExit) as ended:
        main(["bench", "serve", "--url", server.url, *asked, *files])
    assert ended.value.code == 0
    table = capsys.readouterr().out
    assert "6 / 0" in table and "the server (usage)" in table
    result = json.loads((tmp_path / "run.json").read_text())
    assert result["output_tokens"] == 6 * 24 and result["tokens_per_answer"] == [24, 24]
    assert result["finish_reasons"] == {"length": 6} and result["failed"] == {}
    assert 0 < result["chunks_of_text"] <= 6 * 24
    assert (tmp_path / "run.svg").stat().st_size > 1000


def test_a_seed_repeats_a_sampled_answer(client: openai.OpenAI) -> None:
    def ask(seed: int) -> str:
        answer = client.chat.completions.create(
            model="any", messages=QUESTION, max_tokens=30, temperature=4, seed=seed
        )
        return answer.choices[0].message.content

    assert ask(7) == ask(7)
    assert len({ask(seed) for seed in range(6)}) > 1


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_curl(server: Any) -> None:
    """The command of the chapters (C2.35, C5.47), and its last line (C2.41)."""
    body = {"model": "m", "messages": [{"role": "user", "content": "什么是 KV Cache？"}], "max_tokens": 128}
    command = ["curl", "-sN", f"{server.url}/v1/chat/completions", "-H", "Content-Type: application/json"]
    streamed = subprocess.run(
        [*command, "-d", json.dumps({**body, "stream": True})], capture_output=True, text=True, check=True
    ).stdout
    events = [event.removeprefix("data: ") for event in streamed.strip().split("\n\n")]
    assert events[-1] == "[DONE]"
    pieces = [json.loads(event)["choices"][0]["delta"].get("content", "") for event in events[:-1]]
    whole = subprocess.run(
        [*command, "-d", json.dumps(body)], capture_output=True, text=True, check=True
    ).stdout
    assert json.loads(whole)["choices"][0]["message"]["content"] == "".join(pieces)


def test_a_raw_socket_that_leaves_in_mid_stream_and_one_that_stays(server: Any) -> None:
    """K5.13's request, byte for byte; the one that leaves costs the other nothing."""
    host, port = server.url.removeprefix("http://").split(":")
    body = json.dumps({"model": "m", "messages": QUESTION, "max_tokens": 128, "stream": True}).encode()
    head = (
        "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost:1919\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    ).encode()
    leaver, stayer = socket.create_connection((host, int(port))), socket.create_connection((host, int(port)))
    for connection in (leaver, stayer):
        connection.sendall(head + body)
    assert b"200" in leaver.recv(100)
    leaver.close()
    answer = b"".join(iter(lambda: stayer.recv(4096), b""))
    stayer.close()
    assert answer.startswith(b"HTTP/1.1 200") and b"data: [DONE]\n\n" in answer


@pytest.mark.parametrize("stream", [False, True])
def test_one_that_sends_a_request_ahead_and_leaves_is_aborted_and_no_error(
    server: Any, until: Callable[[Callable[[], object], str], None], stream: bool
) -> None:
    host, port = server.url.removeprefix("http://").split(":")
    fields = {"prompt": "for ever", "max_tokens": 240, "ignore_eos": True, "n": 16, "stream": stream}
    body = json.dumps({"model": "m", **fields}).encode()
    head = f"POST /v1/completions HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    request = head.encode() + b"\r\nHost: x\r\n\r\n" + body

    def kept() -> int:
        return int(httpx.get(f"{server.url}/health", trust_env=False).json()["requests"])

    before = server.log.count("aborting its request")
    with socket.create_connection((host, int(port))) as leaver:
        leaver.sendall(request * 2)
        until(lambda: kept() == 16, "the first of both requests")
    until(lambda: not kept(), "the end of what nobody waits for")
    assert server.log.count("aborting its request") == before + 16
    assert "ERROR" not in server.log
