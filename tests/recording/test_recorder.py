"""What the recorder writes of a request is what makes the server answer it alike again."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from minisgl_tutor.message import ErrorReply
from minisgl_tutor.recording.endings import EndingLog
from minisgl_tutor.recording.lines import (
    VERSION,
    ArriveLine,
    CutLine,
    Header,
    Line,
    RecordingError,
    RefuseLine,
    RequestLine,
    StallLine,
    StopLine,
    SubmitLine,
)
from minisgl_tutor.recording.recorder import RecordFile, RecordingApp, RecordTarget, Stamp
from minisgl_tutor.trace.asgi import AsgiClient
from minisgl_tutor.trace.clock import run


async def answers(scope, receive, send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def reader(scope, receive, send) -> None:
    await receive()
    await answers(scope, receive, send)


@pytest.mark.parametrize(
    ("path", "kind", "body", "recorded"),
    [
        ("/v1/completions", "application/json", b"{}", "{}"),
        ("/%e4%b8%ad?a=b", "text/plain", b"", ""),
        ("/", "application/json", '{"中": 1}'.encode("utf-16"), '{"中": 1}'),
        ("/", "\xe9", b'{"a": "\xff"}', '{"a": "\\xff"}'),
    ],
)
def test_a_request_as_it_was_on_the_wire(
    tmp_path: Path, path: str, kind: str, body: bytes, recorded: str
) -> None:
    async def main() -> None:
        file = RecordFile(RecordTarget.create(tmp_path / "run"))
        client = AsgiClient(RecordingApp(reader, file))
        await client.request("POST", path, headers={"content-type": kind}, body=body).wait()
        file.close()

    run(main)
    line, refused = lines_of(tmp_path / "run")
    assert isinstance(line, RequestLine) and isinstance(refused, RefuseLine)
    assert (line.path, line.content_type, line.body) == (path.partition("?")[0], kind, recorded)


def lines_of(path: Path) -> list[Line]:
    return [msgspec.json.decode(line, type=Line) for line in path.read_bytes().splitlines()]


@pytest.mark.parametrize(("submits", "status"), [(True, 200), (False, 400), (True, 400)])
def test_a_request_is_answered_as_a_uid_or_is_refused(tmp_path: Path, submits: bool, status: int) -> None:
    """Or both: the tokenizer refuses what the API process took, such as a conversation without a text."""

    async def app(scope, receive, send) -> None:
        await receive()
        if submits:
            stamp(7)
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def main() -> None:
        nonlocal stamp
        file = RecordFile(RecordTarget.create(tmp_path / "run"))
        recorded = RecordingApp(app, file)
        stamp = recorded.stamp(lambda uid: (f"stamp{uid}", 1))
        await AsgiClient(recorded).request("POST", "/", body=b"{}").wait()
        file.close()

    stamp: Stamp = never_stamped
    run(main)
    kinds = [type(line) for line in lines_of(tmp_path / "run")]
    assert kinds == [RequestLine, *[SubmitLine] * submits, *[RefuseLine] * (status == 400)]


def never_stamped(uid: int) -> tuple[str, int]:
    raise AssertionError(f"uid {uid} has no stamp yet")


def test_what_the_server_ends_is_written_with_what_had_come(tmp_path: Path) -> None:
    file = RecordFile(RecordTarget.create(tmp_path / "run"))
    log = EndingLog(file, {3: 12, 4: 0, 5: 7}.__getitem__)
    log.ended(ErrorReply(3, "too long", 504, "request_timeout"), {3: 2})
    log.ended(ErrorReply(-1, "the server is stopping", 503, "server_failing"), {4: 0, 5: 1})
    file.close()
    cut, stop = lines_of(tmp_path / "run")
    assert cut == CutLine(cut.t, 3, 12, 2, 504, "request_timeout", "too long")
    assert stop == StopLine(stop.t, [4, 5], [0, 7], "the server is stopping")


def test_a_full_disk_ends_the_recording_and_not_the_server(caplog: pytest.LogCaptureFixture) -> None:
    file = RecordFile(RecordTarget("/dev/full", 0))
    file.write(ArriveLine(0, [], []))
    file.write(ArriveLine(1, [], []))
    file.close()
    (record,) = caplog.records
    assert "/dev/full cannot be written any more (No space left on device)" in record.getMessage()


def test_a_disk_without_room_for_the_header_is_told_at_the_start() -> None:
    file = RecordFile(RecordTarget("/dev/full", 0))
    header = Header(VERSION, None, "m", 16, 64, 8, 256, 257, 2048, "radix", True, 1, 16, [1])
    with pytest.raises(RecordingError, match=r"/dev/full cannot be written .*--record another"):
        file.write(header)
    file.close()


@pytest.mark.parametrize(
    ("waited_us", "others_write", "is_stall"),
    [(50_000, False, True), (2_000, True, True), (2_000, False, False), (500, True, False)],
)
def test_a_write_that_waits_for_its_reader_is_a_stall(
    tmp_path: Path, waited_us: int, others_write: bool, is_stall: bool
) -> None:
    """The third event fits no more until the client has read; a short wait may be the process's own."""
    now_ns = 0
    file = RecordFile(replace(RecordTarget.create(tmp_path / "run"), start_ns=0), clock=lambda: now_ns)

    async def sends(message: MutableMapping[str, object]) -> None:
        nonlocal now_ns
        now_ns += 10_000
        if message.get("body") == b"data: 2\n\n":
            now_ns += waited_us * 1000
            if others_write:
                await recorded({"type": "http", "method": "POST"}, never, sends)

    async def app(scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for i in range(4 if now_ns == 10_000 else 1):
            await send({"type": "http.response.body", "body": b"data: %d\n\n" % i, "more_body": i < 3})

    async def never() -> MutableMapping[str, object]:
        raise AssertionError("nobody asked for the request")

    recorded = RecordingApp(app, file)
    asyncio.run(recorded({"type": "http", "method": "POST"}, never, sends))
    file.close()
    lines = [
        msgspec.json.decode(line, type=StallLine) for line in (tmp_path / "run").read_bytes().splitlines()
    ]
    assert [(line.rid, line.chunks) for line in lines] == [(0, 2)] * is_stall
    assert all(waited_us < line.us < line.t for line in lines)
