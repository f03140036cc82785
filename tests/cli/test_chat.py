"""``chat`` against a scripted HTTP server."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from minisgl_tutor.cli.main import main


class Script:
    """A server on a free port: it says ``events`` after ``status``, and keeps the bodies that it was sent."""

    def __init__(self) -> None:
        self.status = 200
        self.events: list[str] = []
        self.models = json.dumps({"data": [{"id": "tiny"}]})
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        script = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._say(200, script.models)

            def do_POST(self) -> None:
                script.keys.append(self.headers["Authorization"])
                script.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self._say(script.status, "".join(f"{event}\n\n" for event in script.events))

            def _say(self, status: int, body: str) -> None:
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.http = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"

    def answer(self, *pieces: str, reason: str = "stop") -> None:
        self.events = [event({"role": "assistant"})]
        self.events += [event({"content": piece}) for piece in pieces]
        self.events += [event({}, reason), "data: [DONE]"]


def event(delta: dict[str, str], reason: str | None = None) -> str:
    return "data: " + json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})


@pytest.fixture
def script() -> Iterator[Script]:
    script = Script()
    thread = threading.Thread(target=script.http.serve_forever, args=(0.01,))
    thread.start()
    yield script
    script.http.shutdown()
    script.http.server_close()
    thread.join()


def chat(*arguments: str) -> object:
    with pytest.raises(SystemExit) as ended:
        main(["chat", *arguments])
    return ended.value.code


def lines(monkeypatch: pytest.MonkeyPatch, *typed: str | type[BaseException]) -> None:
    """What the user types at the prompt, and then the end of input. An exception is raised there."""
    given = iter(typed)

    def read(prompt: str = "") -> str:
        line = next(given, EOFError)
        if isinstance(line, str):
            return line
        raise line

    monkeypatch.setattr("builtins.input", read)


def test_one_question_gets_its_answer(script: Script, capsys: pytest.CaptureFixture[str]) -> None:
    script.answer("A cache ", "of keys", "，值。")
    assert chat("--url", script.url, "--system", "Be brief.", "--max-tokens", "9", "What is it?") == 0
    assert capsys.readouterr().out == "A cache of keys，值。\n"
    (body,) = script.bodies
    assert body == {
        "model": "tiny",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is it?"}],
        "max_tokens": 9,
        "temperature": 0.0,
        "stream": True,
    }


def test_a_key_is_sent_if_there_is_one(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    script.answer("yes")
    for arguments in ([], ["--api-key", "sk-1"]):
        assert chat("--url", script.url, *arguments, "hello") == 0
    monkeypatch.setenv("MINISGL_TUTOR_API_KEY", "sk-2")
    assert chat("--url", script.url, "hello") == 0
    assert script.keys == [None, "Bearer sk-1", "Bearer sk-2"]


def test_a_conversation_sends_what_was_said_until_it_starts_anew(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    script.answer("yes")
    lines(monkeypatch, "one", "", "two", "/new", "three", "/exit", "never")
    assert chat("--url", script.url) == 0
    assert [[message["content"] for message in body["messages"]] for body in script.bodies] == [
        ["one"],
        ["one", "yes", "two"],
        ["three"],
    ]


def test_an_unknown_command_is_not_a_question(
    script: Script, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script.answer("yes")
    lines(monkeypatch, "/help", "/new it", "/usr/lib holds what?")
    assert chat("--url", script.url) == 0
    assert [body["messages"][0]["content"] for body in script.bodies] == ["/usr/lib holds what?"]
    assert capsys.readouterr().err.splitlines() == [
        "/help is not a command; /new starts anew, /exit ends",
        "/new it is not a command; /new starts anew, /exit ends",
    ]


def test_a_terminal_gets_lines_broken_between_words(
    script: Script, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script.answer("so tha", "t each st", "ep")
    monkeypatch.setenv("COLUMNS", "10")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert chat("--url", script.url, "?") == 0
    assert capsys.readouterr().out == "so that\neach step\n"


def test_the_end_of_input_and_ctrl_c_at_the_prompt(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    lines(monkeypatch, KeyboardInterrupt)
    assert chat("--url", script.url) == 0
    assert not script.bodies


def test_ctrl_c_stops_the_answer_and_not_the_conversation(
    script: Script, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script.answer("endless", " words")
    lines(monkeypatch, "one", "two")

    class Interrupted:
        """Ctrl+C while the first piece is printed."""

        pressed = False

        def __call__(self, *what: object, **how: Any) -> None:
            if what == ("endless",) and not self.pressed:
                self.pressed = True
                raise KeyboardInterrupt
            print(*what, **how)

    monkeypatch.setattr("minisgl_tutor.cli.chat.print", Interrupted(), raising=False)
    assert chat("--url", script.url) == 0
    assert " [stopped]\nendless words\n" in capsys.readouterr().out
    assert [m["content"] for m in script.bodies[1]["messages"]] == ["one", "endless", "two"]


def test_a_refused_question_is_told_and_forgotten(
    script: Script, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script.status, script.events = 400, [json.dumps({"error": {"message": "too long"}})]
    lines(monkeypatch, "one", "two")
    assert chat("--url", script.url) == 0
    assert capsys.readouterr().err == "Error: the server refuses: too long\n" * 2
    assert [message["content"] for message in script.bodies[1]["messages"]] == ["two"]


@pytest.mark.parametrize(
    "events, sentence",
    [
        ([event({"content": "A"}), 'data: {"error": {"message": "a worker died"}}'], "a worker died"),
        ([event({"content": "A"})], "broke off before its end"),
        (["data: {"], "does not speak the OpenAI protocol"),
        (['data: {"choices": 3}'], "does not speak the OpenAI protocol"),
    ],
)
def test_an_answer_that_fails_is_one_sentence(
    script: Script, capsys: pytest.CaptureFixture[str], events: list[str], sentence: str
) -> None:
    script.events = events
    assert chat("--url", script.url, "?") == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert sentence in line


def test_an_answer_cut_at_its_limit_says_so(script: Script, capsys: pytest.CaptureFixture[str]) -> None:
    script.answer("A", reason="length")
    assert chat("--url", script.url, "?") == 0
    assert "--max-tokens" in capsys.readouterr().err


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "nonsense", "ftp://127.0.0.1", "http://[", ""])
def test_no_server_is_one_sentence(capsys: pytest.CaptureFixture[str], url: str) -> None:
    assert chat("--url", url, "?") == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("Error: ")


@pytest.mark.parametrize("models", ["hello", "[]", "{}", '{"data": []}', "3"])
def test_a_server_of_another_kind_is_one_sentence(
    script: Script, capsys: pytest.CaptureFixture[str], models: str
) -> None:
    script.models = models
    assert chat("--url", script.url) == 1
    assert "does not speak the OpenAI protocol" in capsys.readouterr().err


def test_a_proxy_is_not_asked_for_this_machine(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    script.answer("yes")
    assert chat("--url", script.url, "?") == 0
