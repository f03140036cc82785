"""What the recorder writes of a request is what makes the server answer it alike again."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from minisgl_tutor.recording.lines import VERSION, ArriveLine, Header, RecordingError, RequestLine, StallLine
from minisgl_tutor.recording.recorder import RecordFile, RecordingApp, RecordTarget
from minisgl_tutor.trace.asgi import AsgiClient
from minisgl_tutor.trace.clock import run


async def reader(scope, receive, send) -> None:
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


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
    line = msgspec.json.decode((tmp_path / "run").read_bytes(), type=RequestLine)
    assert (line.path, line.content_type, line.body) == (path.partition("?")[0], kind, recorded)


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
