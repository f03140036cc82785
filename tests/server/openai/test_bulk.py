"""Large bodies, looked at from outside of the event loop."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys

import pytest

from minisgl_tutor.server.openai.bulk import (
    LARGE_BYTES,
    MAX_VALUES,
    SMALL_BYTES,
    BulkBodies,
    Findings,
    is_light,
    look_through,
)
from minisgl_tutor.server.openai.failure import RequestFailed


def messages(count: int) -> bytes:
    return json.dumps({"messages": [{"role": "user", "content": "a"}] * count}).encode()


@pytest.mark.parametrize(
    ("body", "light"),
    [
        (messages(500), True),
        (messages(2_000), False),
        (b" " * SMALL_BYTES, True),
        (b'{"prompt": "' + b"Hello, world. " * 100_000 + b'"}', False),
        (b'{"prompt": "' + b"Hello world. " * 300_000 + b'"}', True),
        (b'"' + b"x" * LARGE_BYTES + b'"', False),
        (b"[" * 100_000, False),
        (b"1," * 60_000, False),
    ],
    ids=range(8),
)
def test_what_may_be_read_at_once(body: bytes, light: bool) -> None:
    assert is_light(body) == light


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ('{"a": "xyz", "b": [1, "什么", null]}'.encode(), Findings("", 6, 5)),
        (b"{", Findings("Input data was truncated")),
        (b"[" * 50_000 + b"]" * 50_000, Findings("it is nested too deeply")),
    ],
    ids=range(3),
)
def test_what_is_found(body: bytes, found: Findings) -> None:
    assert look_through(body) == found


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (messages(MAX_VALUES // 3 - 1), None),
        (messages(MAX_VALUES // 3), "too_many_values"),
        (messages(3_000)[:-1], "invalid_json"),
        (json.dumps(["x" * 100, *range(60_000)]).encode(), "too_many_values"),
        (json.dumps("x" * LARGE_BYTES).encode(), "prompt_too_long"),
    ],
    ids=range(5),
)
def test_case_f7_a_child_decides_about_what_may_take_long(body: bytes, code: str | None) -> None:
    async def main() -> str | None:
        try:
            await BulkBodies(max_prompt_chars=LARGE_BYTES - 1).examine(body)
        except RequestFailed as failure:
            return failure.reply.code
        return None

    assert not is_light(body)
    assert asyncio.run(main()) == code


def test_a_request_that_is_cancelled_ends_its_child(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    create = asyncio.create_subprocess_exec

    async def starts(*args, **kwargs):
        started.append(await create(*args, **kwargs))
        return started[0]

    async def main() -> None:
        monkeypatch.setattr(asyncio, "create_subprocess_exec", starts)
        examining = asyncio.create_task(BulkBodies(1).examine(messages(100_000)))
        while not started:
            await asyncio.sleep(0)
        examining.cancel()
        await asyncio.gather(examining, return_exceptions=True)
        assert started[0].returncode is not None

    asyncio.run(main())


@pytest.mark.parametrize("error", [OSError(24, "Too many open files"), ChildProcessError("it was killed")])
def test_the_server_is_at_fault_if_it_has_no_process_to_look_with(
    caplog: pytest.LogCaptureFixture, error: OSError
) -> None:
    async def look(body: bytes) -> Findings:
        raise error

    with pytest.raises(RequestFailed) as failed:
        asyncio.run(BulkBodies(100, look).examine(messages(3_000)))
    assert (failed.value.reply.status, failed.value.reply.code) == (503, "no_process")
    assert failed.value.headers == {"Retry-After": "1"}
    assert str(error) in caplog.text


def test_a_child_that_is_killed_says_nothing_of_the_body(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with pytest.raises(RequestFailed) as failed:
        asyncio.run(BulkBodies(100).examine(messages(3_000)))
    assert failed.value.reply.status == 503
