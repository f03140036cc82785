"""What a reader's code raises where nobody waits for it is told, and not only what comes of it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from msgspec import msgpack

from minisgl_tutor.exercises.catalogue import resolve
from minisgl_tutor.exercises.child import played
from minisgl_tutor.exercises.drill import Reader, in_virtual_time
from minisgl_tutor.exercises.drills.stage import StageSeen
from minisgl_tutor.exercises.reader_file import load
from minisgl_tutor.exercises.wire import Played, PlayJob
from minisgl_tutor.server.openai.sse import ClientDisconnected

READERS = """
import asyncio

async def fails(error):
    raise error

def call(error):
    raise error

async def takes_note(error):
    await asyncio.gather(asyncio.create_task(fails(error)), return_exceptions=True)

async def fails_when_cancelled(error):
    try:
        await asyncio.Event().wait()
    finally:
        raise error
"""


@pytest.fixture
def readers(tmp_path: Path) -> Any:
    file = tmp_path / "answer.py"
    file.write_text(READERS)
    return load(file)


async def at_rest() -> str:
    await asyncio.sleep(1)
    return "over"


async def in_a_task(work: Coroutine[Any, Any, None]) -> str:
    task = asyncio.create_task(work)
    over = await at_rest()
    del task
    return over


def test_what_a_task_raises_and_nobody_asks_for_is_raised(readers: Any) -> None:
    with pytest.raises(KeyError):
        in_virtual_time(lambda: in_a_task(readers.fails(KeyError("x"))))


@pytest.mark.filterwarnings("ignore")
def test_it_goes_before_what_comes_of_it(readers: Any) -> None:
    async def main() -> None:
        task = asyncio.create_task(readers.fails(KeyError("x")))
        await asyncio.Event().wait()
        del task

    with pytest.raises(KeyError):
        in_virtual_time(main)


def test_what_a_callback_raises_is_raised(readers: Any) -> None:
    async def main() -> str:
        asyncio.get_running_loop().call_soon(readers.call, KeyError("x"))
        return await at_rest()

    with pytest.raises(KeyError):
        in_virtual_time(main)


def test_what_is_taken_note_of_is_nobody_elses_business(readers: Any) -> None:
    assert in_virtual_time(lambda: in_a_task(readers.takes_note(KeyError("x")))) == "over"


def test_how_a_request_ends_is_no_mistake(readers: Any) -> None:
    assert in_virtual_time(lambda: in_a_task(readers.fails(ClientDisconnected()))) == "over"


def test_what_another_file_raises_is_not_the_readers() -> None:
    async def fails() -> None:
        raise KeyError

    assert in_virtual_time(lambda: in_a_task(fails())) == "over"


def test_what_is_raised_as_a_play_is_tidied_up_does_not_count(readers: Any) -> None:
    assert in_virtual_time(lambda: in_a_task(readers.fails_when_cancelled(KeyError("x")))) == "over"


def seen_of(file: Path, key: str) -> tuple[Played, type]:
    """The first case of an exercise, played with the file."""
    drill = resolve(key).drill()
    module = load(file)
    reader = Reader(drill.find(module, file.name), file, module)
    job = PlayJob(1, msgpack.encode(drill.job(drill.cases(random.Random(7))[0])))
    return played(drill, reader, job, "", []), drill.seen_type


def test_a_scheduler_that_fails_is_told_with_the_line(tmp_path: Path) -> None:
    file = tmp_path / "answer.py"
    file.write_text(
        "from minisgl_tutor.scheduler.scheduler import Scheduler\n"
        "class MyScheduler(Scheduler):\n"
        "    def _send_aborted(self, uid):\n"
        "        self.nothing.append(uid)\n"
    )
    answer, seen_type = seen_of(file, "5.9")
    seen: StageSeen = msgpack.decode(answer.seen, type=seen_type)
    assert seen.failed_line == 4


def test_a_call_that_serves_a_client_and_fails_is_told_with_the_line(tmp_path: Path) -> None:
    file = tmp_path / "answer.py"
    file.write_text(
        "from minisgl_tutor.server.frontend import FrontendManager\n"
        "class MyFrontendManager(FrontendManager):\n"
        "    def file_reply(self, reply):\n"
        "        super().file_reply(reply), self\n"
        "    async def wait_for_ack(self, uid):\n"
        "        yield self.nothing\n"
    )
    answer, _ = seen_of(file, "5.11")
    assert answer.stopped is not None
    assert (answer.stopped.kind, answer.stopped.line) == ("AttributeError", 6)
