"""``top``: what it prints of a report, and how it ends."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import msgspec
import pytest
from rich.console import Console

from minisgl_tutor.cli.main import main
from minisgl_tutor.cli.top_view import drawn, lines, span
from minisgl_tutor.language import ENGLISH
from minisgl_tutor.server.operations.audit import ComponentHeld, Holding, Report, RequestHeld

EMPTY = Report("tiny", 0, 0, [ComponentHeld("api", 0, 0.0, 0.0)], [])
LEAK = RequestHeld(
    3,
    "ended",
    70.0,
    61.5,
    True,
    [Holding("api", "ack_map", 2, 70.0), Holding("api", "event_map", 0, 70.0), Holding("tok", "x", 1, 3.0)],
)
RUNS = RequestHeld(4, "running", 2.0, None, False, [Holding("tok", "x", 9, 1.0)])
FULL = Report(
    "tiny", 2, 1, [ComponentHeld("api", 1, 0.0, 0.0), ComponentHeld("tok", 2, 0.5, 4)], [LEAK, RUNS]
)


class Server:
    """Says ``body`` after ``status`` to everybody, and keeps the keys that it was sent."""

    def __init__(self) -> None:
        self.status, self.body = 200, b""
        self.keys: list[str | None] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.keys.append(self.headers["Authorization"])
                self.send_response(server.status if self.path == "/debug/held" else 500)
                self.end_headers()
                self.wfile.write(server.body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.http = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.http.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.http.shutdown()
    thread.join()
    server.http.server_close()


def top(server: Server, *options: str) -> object:
    with pytest.raises(SystemExit) as ended:
        main(["top", "--url", server.url, "--once", *options])
    return ended.value.code


def test_residue_is_told_by_a_word_and_by_the_exit_status(server: Server, capsys) -> None:
    server.body = msgspec.json.encode(FULL)
    assert top(server, "--api-key", "sk-1") == 1
    assert server.keys == ["Bearer sk-1"]
    assert capsys.readouterr().out.splitlines() == [
        "tiny: something is held for 2 requests, 1 of them RESIDUE",
        "  api: holds something for 1, seen 0.0 s ago",
        "  tok: holds something for 2, seen 0.5 s ago, in one step for 4.0 s",
        "uid  status                       age         held by  what                    for",
        "3    RESIDUE ended 1 min 1 s ago  1 min 10 s  api      ack_map 2, event_map 0  1 min 10 s",
        "                                              tok      x 1                     3.0 s",
        "4    running                      2.0 s       tok      x 9                     1.0 s",
    ]
    server.body = msgspec.json.encode(EMPTY)
    assert top(server) == 0
    assert capsys.readouterr().out.startswith("tiny: nothing is held for any request\n")


@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        (404, b"{}", "start it with `"),
        (401, b"{}", "give --api-key"),
        (429, b'{"error": {"message": "too much"}}', "the server refuses: too much"),
        (200, b'{"model": 3}', "is not a server of this version"),
        (500, b"oops", "does not speak"),
    ],
)
def test_what_goes_wrong_is_a_sentence(server: Server, capsys, status: int, body: bytes, says: str) -> None:
    server.status, server.body = status, body
    assert top(server) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line


def test_a_screen_shows_as_many_requests_as_it_has_room_for() -> None:
    def screen(height: int) -> str:
        console = Console(width=100, height=height, record=True, file=io.StringIO())
        console.print(drawn(FULL, "http://x", height, ENGLISH))
        return console.export_text()

    assert "running" in screen(30) and "more" not in screen(30)
    small = screen(10)
    assert "RESIDUE ended" in small and "running" not in small and "and 1 more" in small


def test_a_look_from_before_the_end_of_a_request_is_told_as_such() -> None:
    def status(seen_s: float) -> str:
        ended = RequestHeld(3, "ended", 5.0, 0.7, False, [Holding("api", "ack_map", 1, 1.0)])
        looks = [ComponentHeld("api", 1, seen_s, 0.0), ComponentHeld("tok", 0, 0.1, 0.0)]
        return list(lines(Report("tiny", 1, 0, looks, [ended]), ENGLISH))[-1]

    assert "ended 0.7 s ago, not looked since " in status(0.8)
    assert "ended 0.7 s ago " in status(0.6)


def test_a_report_that_leaves_some_out_says_so() -> None:
    assert list(lines(Report("tiny", 5, 1, [], [LEAK]), ENGLISH))[-1] == "and 4 more"


@pytest.mark.parametrize(("seconds", "text"), [(0.04, "0.0 s"), (60, "1 min 0 s"), (7260.9, "2 h 1 min")])
def test_spans(seconds: float, text: str) -> None:
    assert str(span(seconds)) == text
