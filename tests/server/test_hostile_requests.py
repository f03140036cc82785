"""What no client should send gets a sentence and a status below 500; nothing of it is kept or passed on."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from minisgl_tutor.message import SamplingParams
from minisgl_tutor.server.api_server import create_app
from minisgl_tutor.server.config import Limits
from minisgl_tutor.server.frontend import FrontendManager
from minisgl_tutor.trace.asgi import AsgiClient
from minisgl_tutor.trace.clock import run

USUAL = Limits()
DEEP = "[" * 100_000 + "]" * 100_000
CHAT = '"model": "m", "messages": [{"role": "user", "content": "hi"}]'


def chat(*messages: str) -> str:
    return f'{{"model": "m", "messages": [{", ".join(messages)}]}}'


def spoilt(name: str, value: str) -> str:
    return f'{{{CHAT}, "{name}": {value}}}'


CASES = [
    ("", 400, "required"),
    ("null", 400, ""),
    ("[]", 400, "no JSON object"),
    ("{", 400, "JSON"),
    (DEEP, 400, "recursion"),
    (spoilt("response_format", DEEP), 400, "recursion"),
    (spoilt("seed", "9" * 5000), 400, "digits"),
    ("{}", 400, "'model'"),
    ('{"model": "m"}', 400, "'messages' or 'prompt'"),
    (chat(), 400, "'messages' or 'prompt'"),
    (chat("3"), 400, "messages.0"),
    (chat('{"role": "user"}'), 400, "messages.0.content"),
    (chat('{"role": "user", "content": null}'), 400, "messages.0.content"),
    (
        chat(r'{"role": "\ud800", "content": "x"}'),
        400,
        "'messages.0.role': the text has a lone surrogate at 0",
    ),
    (
        chat(r'{"role": "user", "content": "x\udfff"}'),
        400,
        "'messages.0.content': the text has a lone surrogate",
    ),
    (r'{"model": "m", "prompt": "ab\ud83d"}', 400, "'prompt': the text has a lone surrogate at 2"),
    (
        chat(r'{"role": "user", "content": "x", "name": "\ud800"}'),
        400,
        "'messages.0': 'name' cannot be passed on",
    ),
    (
        chat(f'{{"role": "user", "content": "x", "tool_calls": [{2**64}]}}'),
        400,
        "'tool_calls' cannot be passed",
    ),
    (spoilt("max_tokens", "0"), 400, "max_tokens"),
    (spoilt("max_tokens", "1.5"), 400, "max_tokens"),
    (spoilt("max_tokens", "1e999"), 400, "max_tokens"),
    (spoilt("max_completion_tokens", "-1"), 400, "max_completion_tokens"),
    (spoilt("temperature", "NaN"), 400, "temperature"),
    (spoilt("temperature", "-Infinity"), 400, "temperature"),
    (spoilt("top_p", "0"), 400, "top_p"),
    (spoilt("top_p", "NaN"), 400, "top_p"),
    (spoilt("top_k", "1.5"), 400, "top_k"),
    (spoilt("seed", str(2**70)), 400, "seed"),
    (spoilt("seed", r'"\ud800"'), 400, "seed"),
    (spoilt("stream", r'"\ud800"'), 400, "stream"),
    (spoilt("stream_options", r'{"include_usage": "\ud800"}'), 400, "include_usage"),
    (spoilt(r"\ud800", "1"), 400, ""),
    (spoilt("n", "0"), 400, "'n'"),
    (spoilt("n", "129"), 400, "'n'"),
    (spoilt("n", "NaN"), 400, "'n'"),
    (spoilt("stop", '""'), 400, "'stop': has an empty text"),
    (spoilt("stop", '["X", ""]'), 400, "'stop': has an empty text"),
    (spoilt("stop", "[1]"), 400, "'stop': must be a text or a list of texts"),
    (spoilt("stop", json.dumps(["x"] * 17)), 400, "16 texts at most"),
    (spoilt("stop", json.dumps("x" * 513)), 400, "512 characters"),
    (spoilt("stop", r'"\ud800"'), 400, "'stop': the text has a lone surrogate"),
    (spoilt("top_k", "-2"), 400, "'top_k'"),
    (spoilt("min_p", "1.5"), 400, "'min_p'"),
    (spoilt("presence_penalty", "-2.5"), 400, "'presence_penalty'"),
    (spoilt("frequency_penalty", "NaN"), 400, "'frequency_penalty'"),
    (spoilt("logit_bias", '{"x": 1}'), 400, "logit_bias"),
    (spoilt("logit_bias", '{"3": 101}'), 400, "logit_bias.3"),
    (spoilt("logprobs", "7"), 400, "'logprobs'"),
    (spoilt("top_logprobs", "5"), 400, "'top_logprobs' goes with 'logprobs'"),
    (spoilt("stream_options", '{"include_usage": true}'), 400, "'stream_options' goes with 'stream'"),
    (spoilt("tools", "[{}]"), 400, "'tools' is not supported"),
    (spoilt("response_format", '{"type": "json_object"}'), 400, "'response_format' is not supported"),
    (spoilt("repetition_penalty", "1.1"), 400, "'repetition_penalty' is no field"),
    (spoilt("x" * 1000, "1"), 400, "is no field"),
    (chat('{"role": "asistant", "content": "x"}'), 400, "the roles are system, developer, user"),
    (chat('{"role": "user", "content": []}'), 400, "'messages.0.content': has no parts"),
    (chat('{"role": "user", "content": [{"type": "text", "text": 0}]}'), 400, "part 0 is not of the form"),
    (chat('{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}'), 400, "'image_url'"),
    (chat('{"role": "user", "content": "x", "audio": {"id": "y"}}'), 400, "'audio'"),
]


@pytest.mark.parametrize(("sent", "status", "words"), CASES, ids=range(len(CASES)))
def test_a_wrong_body_is_answered_and_leaves_nothing(rig, sent: str, status: int, words: str) -> None:
    it, exchange = post(rig, sent.encode())
    assert exchange.status == status
    assert words in json.loads(exchange.body)["error"]["message"]
    assert len(exchange.body) < 600  # what was sent is not sent back
    assert exchange.app_traceback == ""
    assert it.state.held() == {} and it.sent() == []
    assert it.state.uid_counter == 0  # so a replay without the texts has the same ones


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/completions", 405),
        ("POST", "/health", 405),
        ("HEAD", "/v1/models", 405),
        ("GET", "/%ff/%00", 404),
    ],
)
def test_a_wrong_address_is_named(rig, method: str, path: str, status: int) -> None:
    _, exchange = post(rig, b"{}", method, path)
    assert (exchange.status, exchange.app_traceback) == (status, "")
    code = "not_found" if status == 404 else "method_not_allowed"
    assert method == "HEAD" or json.loads(exchange.body)["error"]["code"] == code


@pytest.mark.parametrize(
    "kind", ["text/plain", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded"]
)
def test_a_body_that_does_not_say_that_it_is_json(rig, kind: str) -> None:
    _, exchange = post(rig, f"{{{CHAT}}}".encode(), kind=kind)
    assert (exchange.status, exchange.app_traceback) == (400, "")


def test_case_f7_a_body_larger_than_the_bound_is_refused(rig) -> None:
    limits = Limits(max_body_bytes=1000)
    _, exchange = post(rig, b" " * 999 + b"{}", limits=limits)
    assert exchange.status == 413
    assert "larger than 1,000 bytes" in json.loads(exchange.body)["error"]["message"]
    assert post(rig, b" " * 998 + b"{}", limits=limits)[1].status == 400


def test_case_f7_a_body_that_comes_too_slowly_is_not_waited_for(rig) -> None:
    async def main() -> None:
        state, client = rig().state, HalfABody()
        app = create_app(state, "m", limits=Limits(body_timeout=30))
        serving = asyncio.create_task(app(dict(SCOPE), client.receive, client.send))
        await asyncio.sleep(29)
        assert not serving.done()
        await serving
        assert asyncio.get_running_loop().time() == 30
        assert client.answer[0]["status"] == 408
        assert b"did not arrive within 30 s" in client.answer[1]["body"]
        assert state.held() == {}

    run(main)


class HalfABody:
    """A client whose body does not go on."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()
        self.answer: list[dict] = []
        self._first = {"type": "http.request", "body": b'{"model', "more_body": True}

    async def receive(self) -> dict:
        if self._first:
            message, self._first = self._first, {}
            return message
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict) -> None:
        self.answer.append(message)


SCOPE = {"type": "http", "method": "POST", "path": "/v1/completions", "headers": [], "query_string": b""}


def test_a_server_that_stops_does_not_wait_for_the_rest_of_a_body(rig) -> None:
    async def main() -> None:
        state, client = rig().state, HalfABody()
        serving = asyncio.create_task(create_app(state, "m")(dict(SCOPE), client.receive, client.send))
        await asyncio.sleep(1)
        assert not serving.done()
        state.fail_all("the server is stopping")
        await serving
        assert client.answer[0]["status"] == 503
        assert b"the server is stopping" in client.answer[1]["body"]

    run(main)


def test_a_client_that_leaves_before_its_body_is_whole_is_forgotten(rig) -> None:
    async def main() -> None:
        state, client = rig().state, HalfABody()
        client.gone.set()
        await create_app(state, "m")(dict(SCOPE), client.receive, client.send)
        assert client.answer == [] and state.held() == {}

    run(main)


def test_whoever_looks_at_health_may_do_without_its_body(rig) -> None:
    assert post(rig, b"", "HEAD", "/health")[1].status == 200


def test_health_counts_the_requests_that_are_kept(rig) -> None:
    async def main() -> None:
        it = rig()
        client = AsgiClient(create_app(it.state, "m"))
        it.state.new_user()
        health = client.request("GET", "/health")
        await asyncio.sleep(1)
        assert json.loads(health.body) == {"status": "ok", "requests": 1}

    run(main)


def test_a_fault_of_the_server_itself_has_the_envelope_too(rig) -> None:
    class Broken(FrontendManager):
        async def submit(self, text: Any, sampling_params: SamplingParams) -> int:
            raise RuntimeError("no number is left")

    async def main() -> None:
        client = AsgiClient(create_app(rig(Broken).state, "m"))
        kind = {"content-type": "application/json"}
        exchange = client.request("POST", "/v1/chat/completions", headers=kind, body=f"{{{CHAT}}}".encode())
        await asyncio.sleep(1)
        assert exchange.status == 500 and "no number is left" in exchange.app_traceback
        error = json.loads(exchange.body)["error"]
        assert (error["type"], error["code"]) == ("server_error", "internal_error")
        assert "no number" not in error["message"], "that is for the log"

    run(main)


def post(
    rig,
    sent: bytes,
    method: str = "POST",
    path: str = "/v1/chat/completions",
    kind: str = "application/json",
    limits: Limits = USUAL,
):
    async def main():
        it = rig()
        client = AsgiClient(create_app(it.state, "m", limits=limits))
        exchange = client.request(method, path, headers={"content-type": kind}, body=sent)
        await asyncio.sleep(1)
        return it, exchange

    return run(main)
