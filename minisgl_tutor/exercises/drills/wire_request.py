"""Chapter 5, concepts, exercise 2: what an HTTP request is in bytes (K5.5, K5.10 to K5.21)."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from types import ModuleType
from typing import Any

import h11
import msgspec

from ..drill import Drill, Found, Reader, Say
from ..reader_file import the_function

NO_DICT, METHOD, PATH, HEADERS, MESSAGES, STREAM = (
    "no-dict",
    "method",
    "path",
    "headers",
    "messages",
    "stream",
)
NO_BYTES, NOT_HTTP, CUT, BUILT = "no-bytes", "not-http", "cut", "built"
HEADER, LENGTH, MISSING = "header", "length", "missing"

HOST = "127.0.0.1:1919"

NEXT = f"GET /v1/models HTTP/1.1\r\nHost: {HOST}\r\n\r\n"
"""A client need not wait for one answer before it sends the next request."""


class Case(msgspec.Struct, frozen=True):
    """A request; ``names``: how its header names are spelt; ``cuts``: where a read ends, in bytes.

    A ``compact`` body has no space between what it is made of, as several clients send it. ``behind`` is
    what the client has sent of its next request.
    """

    check: str
    path: str
    messages: tuple[dict[str, str], ...]
    stream: bool
    names: str = "usual"
    cuts: tuple[int, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    compact: bool = False
    behind: str = ""

    def bytes_(self) -> bytes:
        fields = {"model": "m", "messages": self.messages, "stream": self.stream}
        separators = (",", ":") if self.compact else (", ", ": ")
        body = json.dumps(fields, ensure_ascii=False, separators=separators)
        data = body.encode()
        headers = [("Host", HOST), ("Content-Type", "application/json"), *self.headers]
        headers.append(("Content-Length", str(len(data))))
        spell: Callable[[str], str] = {"lower": str.lower, "upper": str.upper}.get(self.names, str)
        lines = [f"POST {self.path} HTTP/1.1", *(f"{spell(name)}: {value}" for name, value in headers)]
        return "\r\n".join([*lines, "", ""]).encode() + data

    def reads(self) -> list[bytes]:
        """As a socket gives it: in one piece, or cut."""
        data = self.bytes_() + self.behind.encode()
        edges = [0, *sorted(cut % len(data) for cut in self.cuts), len(data)]
        return [data[begin:end] for begin, end in pairwise(edges) if end > begin]


class Said(msgspec.Struct):
    """What ``parse`` and ``build`` returned, each in JSON's types, or a text where it has another form."""

    parsed: dict[str, Any] | None
    parsed_text: str
    built: bytes | None
    built_text: str


class WireRequestDrill(Drill[Case, Case, Said]):
    """Gives requests in bytes to ``parse``, and reads what ``build`` makes with a parser of its own, h11."""

    job_type = Case
    seen_type = Said
    checks = (
        "sample",
        "several-turns",
        "chinese",
        "header-case",
        "two-reads",
        "not-streamed",
        "next-request",
        "at-random",
    )
    faults = (
        NO_DICT,
        METHOD,
        PATH,
        HEADERS,
        MESSAGES,
        STREAM,
        NO_BYTES,
        HEADER,
        LENGTH,
        NOT_HTTP,
        CUT,
        MISSING,
        BUILT,
    )

    def find(self, module: ModuleType, file: str) -> object:
        return the_function(module, "parse", file), the_function(module, "build", file)

    def cases(self, rng: random.Random) -> Sequence[Case]:
        ask = ({"role": "user", "content": "What is a token?"},)
        turns = (
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "content: first?"},
            {"role": "assistant", "content": 'a "quoted" answer\n\nin two parts'},
            {"role": "user", "content": "and then?"},
        )
        chinese = ({"role": "user", "content": "什么是 KV Cache？"},)
        chat = "/v1/chat/completions"
        fixed = [
            Case("sample", chat, ask, True),
            Case("sample", "/v1/chat/completions?trace=1", ask, True),
            Case("several-turns", chat, turns, True),
            Case("several-turns", chat, turns, True, compact=True),
            Case("chinese", chat, chinese, True),
            Case("header-case", chat, ask, True, "lower", headers=(("X-Note", "A: b"),)),
            Case("header-case", chat, ask, True, "upper"),
            Case("two-reads", chat, ask, True, cuts=(30,)),
            Case("two-reads", chat, ask, True, cuts=(_where(Case("", chat, ask, True), b"{"),)),
            Case(
                "two-reads",
                chat,
                chinese,
                True,
                cuts=(_where(Case("", chat, chinese, True), "什".encode()) + 1,),
            ),
            Case("not-streamed", chat, ask, False),
            Case("next-request", chat, ask, True, behind=NEXT),
            Case("next-request", chat, chinese, True, behind=NEXT),
            Case(
                "next-request", chat, ask, True, cuts=(len(Case("", chat, ask, True).bytes_()),), behind=NEXT
            ),
        ]
        return [*fixed, *(_random_case(rng, (*ask, *turns, *chinese)) for _ in range(20))]

    def play(self, reader: Reader, job: Case) -> Said:
        parse, build = reader.found
        parsed = parse(job.reads())
        built = build("POST", job.path, HOST, list(job.messages), job.stream)
        plain = _plain(parsed)
        is_bytes = isinstance(built, bytes | bytearray)
        return Said(plain, repr(parsed)[:80], bytes(built) if is_bytes else None, repr(built)[:80])

    def judge(self, case: Case, seen: Said) -> Iterator[Found]:
        yield from _parsed(case, seen)
        if seen.built is None:
            yield Found(NO_BYTES, {"answer": seen.built_text})
        else:
            yield from _built(case, seen.built)

    def check_of(self, case: Case, fault: str) -> str:
        return case.check

    def in_words(self, case: Case, say: Say) -> str:
        text = b"".join(case.reads()).decode(errors="replace").replace("\r\n", "\\r\\n")
        return say("request", text=text, count=len(case.reads()))

    def size(self, case: Case) -> tuple[int, ...]:
        return len(case.cuts), len(case.messages), len(case.bytes_())


def _where(case: Case, piece: bytes) -> int:
    return case.bytes_().index(piece)


def _plain(parsed: object) -> dict[str, Any] | None:
    """The dictionary in JSON's types, or null if it is none."""
    if not isinstance(parsed, dict):
        return None
    try:
        plain: dict[str, Any] = json.loads(json.dumps(parsed))
    except (TypeError, ValueError):
        return None
    return plain


def _parsed(case: Case, seen: Said) -> Iterator[Found]:
    if seen.parsed is None:
        yield Found(NO_DICT, {"answer": seen.parsed_text})
        return
    headers = dict(_header_lines(case))
    due = {
        METHOD: "POST",
        PATH: case.path,
        HEADERS: headers,
        MESSAGES: list(case.messages),
        STREAM: case.stream,
    }
    for name, value in due.items():
        got = seen.parsed.get(name)
        if name == HEADERS and isinstance(got, dict):
            got = {str(key).lower(): each for key, each in got.items()}
        if got != value or type(got) is not type(value):
            yield Found(name, {"due": repr(value)[:120], "got": repr(got)[:120]})


def _header_lines(case: Case) -> Iterator[tuple[str, str]]:
    for line in case.bytes_().partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]:
        name, _, value = line.partition(":")
        yield name.lower(), value.strip()


def _built(case: Case, built: bytes) -> Iterator[Found]:
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(built)
    body = b""
    try:
        request = connection.next_event()
        if isinstance(request, h11.Request):
            yield from _head(case, request, built)
        while isinstance(event := connection.next_event(), h11.Data):
            body += event.data
    except h11.RemoteProtocolError as error:
        yield Found(NOT_HTTP, {"reason": str(error)})
        return
    if not isinstance(request, h11.Request) or not isinstance(event, h11.EndOfMessage):
        yield Found(CUT)
        return
    try:
        fields = json.loads(body)
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        yield Found(BUILT, {"due": "JSON", "got": body[:40].decode(errors="replace")})
        return
    for name, due in ((MESSAGES, list(case.messages)), (STREAM, case.stream)):
        got = fields.get(name)
        if name not in fields:
            yield Found(MISSING, {"name": name, "got": ", ".join(fields) or "{}"})
        elif got != due or type(got) is not type(due):
            yield Found(BUILT, {"due": f"{name}: {due!r}"[:120], "got": f"{name}: {got!r}"[:120]})


def _head(case: Case, request: h11.Request, built: bytes) -> Iterator[Found]:
    if (request.method, request.target) != (b"POST", case.path.encode()):
        yield Found(BUILT, {"due": f"POST {case.path}", "got": built[:60].decode(errors="replace")})
    headers = {name.decode(): value.decode(errors="replace") for name, value in request.headers}
    size = len(re.split(rb"\r?\n\r?\n", built, maxsplit=1)[-1])
    has = ", ".join(f"{each}: {value}" for each, value in headers.items())[:160]
    due = {"Host": HOST, "Content-Type": "application/json", "Content-Length": str(size)}
    for name, value in due.items():
        got = headers.get(name.lower(), "")
        if got and name == "Content-Length" and got != value:
            yield Found(LENGTH, {"given": got, "bytes": size})
        elif got.partition(";")[0].strip().lower() != value:
            yield Found(HEADER, {"due": f"{name}: {value}", "got": has})


def _random_case(rng: random.Random, messages: Sequence[dict[str, str]]) -> Case:
    some = tuple(rng.choice(messages) for _ in range(rng.randint(1, 3)))
    cuts = tuple(rng.randrange(1, 400) for _ in range(rng.randint(0, 3)))
    names = rng.choice(("usual", "lower", "upper"))
    stream, compact = rng.random() < 0.5, rng.random() < 0.5
    behind = rng.choice(("", NEXT))
    return Case("at-random", "/v1/chat/completions", some, stream, names, cuts, (), compact, behind)
