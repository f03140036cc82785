"""A scheduler's process, with the engine inside it; one for each rank of a model (C2.10, C2.23).

Rank 0 receives the messages and sends the replies. The others get the messages of each
round from it and do the same work, each for its part of the model (C2.11).
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import UNSET

from ...distributed.seat import Seat
from ...engine.process import default_threads, prepare_process
from ...engine.slow import SlowEngine
from ...links.base import Relay, no_relay
from ...links.relay import NoPush, ZmqRelay, ZmqRelayedPull
from ...links.zmq_queue import ZmqPullQueue, ZmqPushQueue
from ...recording import VERSION, Header
from ...recording.recorder import RecordFile, RecordingEngine, RecordingObserver, RecordTarget, message_log
from ...scheduler.gauges import gauges
from ..build import build_scheduler
from ..config import ServerArgs
from ..workers.addresses import Addresses
from .profiled import profiling

if TYPE_CHECKING:
    from ...distributed.group import TorchGroup
    from ...engine.base import Engine, EngineInfo
    from ...scheduler.scheduler import Scheduler
    from ..workers.worker import Ready

logger = logging.getLogger(__name__)


def run_scheduler(
    args: ServerArgs,
    model_dir: Path,
    seat: Seat,
    addresses: Addresses,
    record: RecordTarget | None,
    ready: Ready,
) -> None:
    """Rank 0's process (C2.15): loads the model, reports ready, and schedules until it is ended.

    Raises:
        ModelError: the model cannot be run.
    """
    scheduler, pull = first_scheduler(args, model_dir, seat, addresses, record)
    ready(held=scheduler.held, gauges=partial(gauges, scheduler), busy_since=lambda: pull.busy_since)
    scheduler.run_forever()


def first_scheduler(
    args: ServerArgs, model_dir: Path, seat: Seat, addresses: Addresses, record: RecordTarget | None
) -> tuple[Scheduler, ZmqPullQueue]:
    """Rank 0's scheduler and what it receives from, once all ranks can take messages.

    To be called first in a process.

    Raises:
        ModelError: the model cannot be run.
    """
    group = _prepare(args, seat)
    if group is not None:
        seed = secrets.randbits(63) if args.scheduler.seed is None else args.scheduler.seed
        args = _with_seed(args, seed)
        group.tell("seed", str(seed))
    engine, eos_token_ids = _load(args, model_dir, group)
    profile = profiling(args)
    engine = profile.engine(engine)
    observer = message_log(record, "scheduler")
    if args.step_ms:
        engine = SlowEngine(engine, args.step_ms)
    if record is not None:
        file = RecordFile(record)
        file.write(recorded_header(args, engine.info, eos_token_ids))
        engine, observer = RecordingEngine(engine, file, eos_token_ids), RecordingObserver(file, observer)
    pull = ZmqPullQueue(addresses.scheduler, "scheduler", observer, _lead(group))
    scheduler = build_scheduler(
        args,
        engine,
        eos_token_ids,
        profile.pull(pull),
        profile.push(ZmqPushQueue(addresses.detokenizer, "detokenizer")),
    )
    _wait_for_all(group)
    return scheduler, pull


def run_follower(args: ServerArgs, model_dir: Path, seat: Seat, ready: Ready) -> None:
    """The process of any other rank, which does as rank 0 does until it is ended.

    Raises:
        ModelError: the model cannot be run.
    """
    group = _prepare(args, seat)
    assert group is not None, "a model of one rank has no other"
    pull = _follow(group)
    args = _with_seed(args, int(group.ask("seed")))
    engine, eos_token_ids = _load(args, model_dir, group)
    scheduler = build_scheduler(args, engine, eos_token_ids, pull, NoPush())
    _wait_for_all(group)
    ready(held=scheduler.held)
    scheduler.run_forever()


def _prepare(args: ServerArgs, seat: Seat) -> TorchGroup | None:
    """Joins the other ranks, if there are any. Those of one machine share its cores."""
    # A program that has ranks started may import torch at its top, which then has happened here, too.
    if "torch" not in sys.modules:
        prepare_process(_threads(args, seat))
    if seat.size == 1:
        return None
    from ...engine.build import join_group

    return join_group(args, seat)


def _load(args: ServerArgs, model_dir: Path, group: TorchGroup | None) -> tuple[Engine, frozenset[int]]:
    """The engine of this rank's part of the model, and the tokens that end a text."""
    from ...engine.build import build_engine
    from ...tokenizer.load import load_eos_token_ids, load_tokenizer

    threads = args.threads if group is None else _threads(args, group.seat)
    engine = build_engine(replace(args, model=str(model_dir), threads=threads), group)
    return engine, load_eos_token_ids(model_dir, load_tokenizer(model_dir))


def _threads(args: ServerArgs, seat: Seat) -> int:
    return args.threads or max(1, default_threads() // seat.local_size)


def _with_seed(args: ServerArgs, seed: int) -> ServerArgs:
    """All ranks give the same seeds to requests without one."""
    return replace(args, scheduler=replace(args.scheduler, seed=seed))


def _wait_for_all(group: TorchGroup | None) -> None:
    if group is not None:
        group.smallest(0)


def _lead(group: TorchGroup | None) -> Relay:
    if group is None:
        return no_relay
    relay = ZmqRelay([group.ask(f"address of rank {rank}") for rank in range(1, group.size)])
    if group.seat.meeting is None:
        relay.on_loss(_end)
    return relay


def _follow(group: TorchGroup) -> ZmqRelayedPull:
    seat = group.seat
    if seat.meeting is None:
        pull = ZmqRelayedPull(f"tcp://{_own_host()}:*", "scheduler")
        pull.on_loss(_end)
    else:
        pull = ZmqRelayedPull(f"ipc://{Path(seat.meeting).parent / f'scheduler-{seat.rank}'}", "scheduler")
    group.tell(f"address of rank {seat.rank}", pull.address)
    return pull


def _own_host() -> str:
    """The address of this machine by which the one of rank 0 reaches it. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])))
        return str(probe.getsockname()[0])


def _end() -> None:
    """A rank on another machine is gone, where no parent of both would notice it."""
    logger.critical("another rank is gone")
    os._exit(1)


def recorded_header(args: ServerArgs, info: EngineInfo, eos_token_ids: frozenset[int]) -> Header:
    """What a recording of this server begins with."""
    return Header(
        version=VERSION,
        model=args.model,
        served_model=args.served_model,
        page_size=info.page_size,
        num_pages=info.num_pages,
        num_slots=info.num_slots,
        max_seq_len=info.max_seq_len,
        vocab_size=info.vocab_size,
        prefill_budget=args.scheduler.prefill_budget,
        cache=args.scheduler.cache,
        overlap=args.scheduler.overlap,
        num_tokenizer=args.num_tokenizer,
        backlog_limit=args.backlog_limit,
        eos_token_ids=sorted(eos_token_ids),
        gaps=list(args.gaps),
        admission=args.scheduler.admission,
        redacted=True if args.redact else UNSET,
        backlog_bytes=args.backlog_bytes,
        max_prompt_chars=args.limits.max_prompt_chars,
        max_body_bytes=args.limits.max_body_bytes,
        utc_offset=time.localtime().tm_gmtoff,
    )
