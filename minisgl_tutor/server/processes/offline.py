"""A scheduler for one caller, without a server: in this process, or in one for each rank of the model."""

from __future__ import annotations

import weakref
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import msgspec

from ...distributed.seat import Seat, local_seats
from ...engine.base import Engine, EngineError, EngineInfo
from ...language import Sentence, sentence_of
from ...links.memory import MemoryChannel, MemoryPull, MemoryPush
from ...links.zmq_queue import ZmqPullQueue, ZmqPushQueue
from ...message import BackendMsg, DetokenizeMsg, ErrorReply, Single, UserMsg
from ...models.config import check_ranks, load_model_config
from ...models.errors import ModelError
from ..build import build_scheduler
from ..config import ServerArgs
from ..workers.addresses import Addresses
from ..workers.children import Children, how_it_ended
from ..workers.errors import StartError
from ..workers.worker import Ready
from .profiled import profiling
from .scheduler_process import first_scheduler, run_follower


class Offline(Protocol):
    """Takes requests, and gives what becomes of them."""

    info: EngineInfo

    @property
    def busy(self) -> bool:
        """A further ``advance`` would do something."""
        ...

    def put(self, msg: BackendMsg) -> None: ...

    def advance(self) -> list[Single]:
        """Goes on with the work, and gives the messages that are new.

        Raises:
            EngineError: it cannot go on.
        """
        ...

    def close(self) -> None:
        """Nothing is left running."""
        ...


class SchedulerHere:
    """A scheduler that runs when it is asked to."""

    def __init__(self, args: ServerArgs, engine: Engine, eos_token_ids: frozenset[int]) -> None:
        self.info = engine.info
        self._requests, self._replies = MemoryChannel("scheduler"), MemoryChannel("answers")
        self.to_scheduler, self.answers = MemoryPush(self._requests), MemoryPull(self._replies)
        self._profile = profiling(args)
        self.scheduler = build_scheduler(
            args,
            self._profile.engine(engine),
            eos_token_ids,
            self._profile.pull(MemoryPull(self._requests)),
            self._profile.push(MemoryPush(self._replies)),
        )

    @property
    def busy(self) -> bool:
        return bool(self._requests.frames) or self.scheduler.busy

    def put(self, msg: BackendMsg) -> None:
        self.to_scheduler.put(msg)

    def advance(self) -> list[Single]:
        self.scheduler.round()
        return self.answers.drain(blocking=False)

    def close(self) -> None:
        self.scheduler.engine.close()
        self._profile.close()


class SchedulerProcesses:
    """The schedulers of all ranks of a model, each a process, which end with this one.

    As always where Python starts processes, a program that makes one has to do so below
    ``if __name__ == "__main__":``.

    Raises:
        ModelError: the model cannot be run so.
    """

    def __init__(self, args: ServerArgs, model_dir: Path) -> None:
        check_ranks(load_model_config(model_dir), args.tp)
        stack = ExitStack()
        # Also when nobody calls it, at the latest at the end of this process.
        self.close = weakref.finalize(self, stack.close)
        self._children = stack.enter_context(Children(args.log_level))
        directory = self._children.directory
        addresses, info_file = Addresses.within(directory, 0), directory / "engine.json"
        try:
            for seat in local_seats(args.tp, addresses.meeting):
                name = f"minisgl-TP{seat.rank}-scheduler"
                if seat.rank == 0:
                    first = (args, model_dir, seat, addresses, info_file)
                    self._children.start(name, _run_first, *first)
                else:
                    self._children.start_silent(name, run_follower, args, model_dir, seat)
            self._answers = ZmqPullQueue(addresses.detokenizer, "answers")
            stack.callback(self._answers.close)
            self._to_scheduler = ZmqPushQueue(addresses.scheduler, "scheduler")
            stack.callback(self._to_scheduler.close)
            self._children.wait_ready()
        except StartError as error:
            self.close()
            raise ModelError(sentence_of(error)) from None
        self.info = msgspec.json.decode(info_file.read_bytes(), type=EngineInfo)
        self._open: set[int] = set()

    @property
    def busy(self) -> bool:
        return bool(self._open)

    def put(self, msg: BackendMsg) -> None:
        if isinstance(msg, UserMsg):
            self._open.add(msg.uid)
        self._to_scheduler.put(msg)

    def advance(self) -> list[Single]:
        sentinels = self._children.sentinels
        for dead in self._answers.wait(sentinels):
            ending = f"{sentinels[dead].name} {how_it_ended(sentinels[dead])}"
            self.close()
            raise EngineError(Sentence("A part of the model is gone: {how}.", how=ending))
        msgs = self._answers.drain(blocking=False)
        for msg in msgs:
            if isinstance(msg, ErrorReply) or (isinstance(msg, DetokenizeMsg) and msg.finished):
                self._open.discard(msg.uid)
        return msgs


def _run_first(
    args: ServerArgs, model_dir: Path, seat: Seat, addresses: Addresses, info_file: Path, ready: Ready
) -> None:
    scheduler, _ = first_scheduler(args, model_dir, seat, addresses, record=None)
    info_file.write_bytes(msgspec.json.encode(scheduler.engine.info))
    ready()
    scheduler.run_forever()
