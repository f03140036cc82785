"""Workers that report, and workers that another one waits for."""

from __future__ import annotations

import time
from multiprocessing import connection

import pytest

from minisgl_tutor.language import Sentence, sentence_of
from minisgl_tutor.server.workers.children import Children
from minisgl_tutor.server.workers.errors import StartError
from minisgl_tutor.server.workers.worker import Ready


def waits(ready: Ready) -> None:
    ready()
    time.sleep(3600)


def never_ready(ready: Ready) -> None:
    time.sleep(3600)


def is_ready_and_ends(ready: Ready) -> None:
    ready()


def fails(ready: Ready) -> None:
    raise StartError(Sentence("GPU {number} is made of {what}", number=2, what=Sentence("cheese")))


def test_nobody_waits_for_a_silent_worker() -> None:
    """(C2.21)"""
    told: list[str] = []
    with Children("error") as children:
        children.start("first", waits)
        children.start_silent("second", never_ready)
        assert children.names == ["first"]
        assert children.wait_ready(on_ready=told.append) is None
        assert len(children.sentinels) == 2
    assert told == ["first"]


def test_a_silent_worker_that_fails_says_so() -> None:
    with Children("error") as children:
        children.start("first", never_ready)
        children.start_silent("second", fails)
        with pytest.raises(StartError, match="GPU 2 is made of cheese") as ended:
            children.wait_ready()
    assert sentence_of(ended.value).values == {"number": 2, "what": Sentence("cheese")}


def test_a_worker_may_end_as_soon_as_it_is_ready_if_nobody_else_is_awaited() -> None:
    with Children("error") as children:
        children.start("finds the model", is_ready_and_ends)
        connection.wait(children.sentinels)
        assert children.wait_ready() is None


def test_a_worker_that_ends_while_another_one_starts_ends_the_start() -> None:
    with Children("error") as children:
        children.start("first", is_ready_and_ends)
        children.start("second", never_ready)
        with pytest.raises(StartError, match="first ended with status 1 while the server was starting"):
            children.wait_ready()
