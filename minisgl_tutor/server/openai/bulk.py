"""Bodies that may take long to parse are examined by a child process before the event loop parses them.

Reading JSON holds up all other clients, for seconds if it is 16 MiB of small things;
a thread would not help, as it is one long call that no other thread may interrupt.
So a body that is large, or looks as if it had many parts, goes to a child process
that says whether it is JSON, and how much is in it. What passes can be read fast.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from .failure import refused
from .prompt import too_long

SMALL_BYTES = 64 << 10
LARGE_BYTES = 4 << 20
MANY_PARTS = 4_000
MANY_COMMAS = 50_000

MAX_VALUES = 10_000
"""Texts, numbers, lists and objects in one body: enough for a conversation of over 3,000 messages."""

AT_ONCE = 2
"""Child processes at a time."""


Examine = Callable[[bytes], Awaitable[None]]
"""Raises ``RequestFailed`` for a body that the event loop shall not read."""


class Findings(msgspec.Struct, frozen=True):
    """What a child says of a body. ``problem`` is empty if it is JSON."""

    problem: str = ""
    values: int = 0
    chars: int = 0


Look = Callable[[bytes], Awaitable[Findings]]
"""Raises ``OSError`` if there is no process for it, or if it is killed."""

logger = logging.getLogger(__name__)


class BulkBodies:
    """Refuses large bodies that would be refused anyway, or would take long to read. ``look`` reads one."""

    def __init__(self, max_prompt_chars: int, look: Look | None = None) -> None:
        self._max_chars = max_prompt_chars
        self._look = look or _ask_child
        self._free = asyncio.Semaphore(AT_ONCE)

    async def examine(self, body: bytes) -> None:
        """Returns at once for a body that can be read fast.

        Raises:
            RequestFailed: it cannot.
        """
        if is_light(body):
            return
        try:
            async with self._free:
                found = await self._look(body)
        except OSError as error:
            logger.error("a body of %d bytes: no process can look at it: %s", len(body), error)
            told = "the server has no process left that could look at so large a body; try again later"
            raise refused(told, None, "no_process", 503, {"Retry-After": "1"}) from None
        if found.problem:
            raise refused(f"the body is not valid JSON: {found.problem}", None, "invalid_json")
        if found.values > MAX_VALUES:
            raise refused(
                f"the body has {found.values:,} values in it, and a request may have {MAX_VALUES:,}; "
                "send fewer messages",
                None,
                "too_many_values",
            )
        if found.chars > self._max_chars:
            raise too_long(found.chars, self._max_chars)


async def take_all(body: bytes) -> None:
    """Examines nothing."""


def is_light(body: bytes) -> bool:
    """Whether a body can be read in a few milliseconds; a text with many quotes in it may seem not to be."""
    if len(body) <= SMALL_BYTES:
        return True
    if len(body) > LARGE_BYTES:
        return False
    parts = body.count(b"{") + body.count(b"[") + body.count(b'"') // 2
    return parts <= MANY_PARTS and body.count(b",") <= MANY_COMMAS


def look_through(body: bytes) -> Findings:
    """Reads a body, however long that takes."""
    try:
        waiting: list[Any] = [msgspec.json.decode(body)]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return Findings(str(error))
    except RecursionError:
        return Findings("it is nested too deeply")
    values = chars = 0
    while waiting:
        value = waiting.pop()
        values += 1
        if isinstance(value, str):
            chars += len(value)
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            waiting += value.values()
    return Findings("", values, chars)


async def look_here(body: bytes) -> Findings:
    """Without a child: for a stage, on which nobody waits."""
    return look_through(body)


async def _ask_child(body: bytes) -> Findings:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", __name__, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, start_new_session=True
    )
    try:
        answer, _ = await child.communicate(body)
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode:
        raise ChildProcessError(f"it ended with status {child.returncode}")
    return msgspec.json.decode(answer, type=Findings)


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(look_through(sys.stdin.buffer.read())))
