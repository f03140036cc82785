"""The worker as a process of its own, over ZeroMQ: both jobs through one entry (C2.15, C2.22)."""

from __future__ import annotations

import multiprocessing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as LibraryTokenizer

from minisgl_tutor.links import NoObserver
from minisgl_tutor.links.zmq_queue import ZmqPullQueue, ZmqPushQueue
from minisgl_tutor.message import DetokenizeMsg, SamplingParams, TokenizeMsg, UserMsg, UserReply
from minisgl_tutor.server.build import build_tokenize_worker
from minisgl_tutor.server.config import ServerArgs
from minisgl_tutor.tokenizer.server import tokenize_worker


@dataclass
class Tell:
    """A ``ready`` that sets an event."""

    event: Any

    def __call__(self, **watched: object) -> None:
        assert set(watched) == {"held", "busy_since"}
        self.event.set()


def test_a_process_does_both_jobs(byte_library: LibraryTokenizer, tmp_path: Path) -> None:
    byte_library.save(str(tmp_path / "tokenizer.json"))
    inbox, backend, frontend = (f"ipc://{tmp_path / name}" for name in ("inbox", "backend", "frontend"))
    from_backend, from_frontend = ZmqPullQueue(backend, "backend"), ZmqPullQueue(frontend, "frontend")
    to_worker = ZmqPushQueue(inbox, "inbox")
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    build = partial(build_tokenize_worker, ServerArgs())
    process = context.Process(
        target=tokenize_worker,
        args=(inbox, backend, frontend, str(tmp_path), build, NoObserver, Tell(ready)),
    )
    process.start()
    try:
        assert ready.wait(60)
        to_worker.put(TokenizeMsg(uid=1, text="AB", sampling_params=SamplingParams()))
        to_worker.put(DetokenizeMsg(uid=2, next_token=67))
        assert from_backend.drain(blocking=True) == [UserMsg(1, [65, 66], SamplingParams())]
        assert from_frontend.drain(blocking=True) == [UserReply(2, "C", False)]
    finally:
        process.kill()
        process.join()
        for queue in (to_worker, from_backend, from_frontend):
            queue.close()
