"""Start-up: the parent creates the workers, waits until all are ready, and runs the API server (C2.3).

    minisgl-api-server             the parent: HTTP, and the front end's state
    ├── minisgl-TP0-scheduler ...  the scheduler, and the engine inside it, one for each rank (C2.10, C2.23)
    ├── minisgl-detokenizer-0      new tokens to text
    └── minisgl-tokenizer-0, 1 ... texts to token ids

Servers do not know of each other: each has a private directory for its sockets.
Workers import this module too, so what only the parent needs is imported there.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ...distributed.seat import local_seats
from ...language import ENGLISH, Sentence, Tongue, reason_of, sentence_of
from ...models.config import check_ranks, load_model_config
from ...models.errors import ModelError
from ...models.resolve import resolve_model
from ...recording.recorder import RecordTarget, message_log
from ...tokenizer.server import tokenize_worker
from ..build import build_tokenize_worker
from ..config import ServerArgs
from ..workers.addresses import Addresses
from ..workers.errors import StartError
from ..workers.logs import configure_logging
from .nodes import run_other_rank, seat_of_launch
from .scheduler_process import run_follower as _run_follower
from .scheduler_process import run_scheduler as _run_scheduler

if TYPE_CHECKING:
    from ..workers.children import Children
    from ..workers.worker import Ready


def launch_server(
    server_args: ServerArgs, run_shell: bool = False, program: str = "minisgl-tutor", say: Tongue = ENGLISH
) -> int:
    """Runs a whole server until it is told to stop, or until a part of it dies; returns the exit status.

    ``program`` is what the reader types to call this program; it stands in what the server says of itself.
    ``say`` says that.

    Raises:
        StartError: it cannot start. Nothing is left behind.
    """
    from .api_process import run_api_server
    from .port import bind_port

    configure_logging(server_args.log_level)
    own_seat = seat_of_launch(server_args.tp, os.environ)
    if own_seat is not None and own_seat.rank > 0:
        return run_other_rank(server_args, find_model(server_args, say), own_seat, say)
    # Only a look: a taken port should be known before a model is downloaded.
    bind_port(server_args.host, server_args.port).close()
    model_dir = find_model(server_args, say)
    if server_args.tp > 1:
        try:
            check_ranks(load_model_config(model_dir), server_args.tp)
        except ModelError as error:
            raise StartError(sentence_of(error)) from None
    target = _record_target(server_args)

    build_worker = partial(build_tokenize_worker, server_args)

    def start_subprocess(children: Children, addresses: Addresses) -> None:
        for seat in [own_seat] if own_seat else local_seats(server_args.tp, addresses.meeting):
            name = f"minisgl-TP{seat.rank}-scheduler"
            if seat.rank == 0:
                children.start(name, _run_scheduler, server_args, model_dir, seat, addresses, target)
            else:
                children.start_silent(name, _run_follower, server_args, model_dir, seat)
        workers = {"minisgl-detokenizer-0": addresses.detokenizer}
        for i in range(server_args.num_tokenizer):
            workers[f"minisgl-tokenizer-{i}"] = addresses.tokenizers[i]
        for name, address in workers.items():
            links = (address, addresses.scheduler, addresses.frontend)
            receiver = name.removeprefix("minisgl-").replace("detokenizer-0", "detokenizer")
            observe = partial(message_log, target, receiver)
            children.start(name, tokenize_worker, *links, str(model_dir), build_worker, observe)

    return run_api_server(
        server_args, start_subprocess, run_shell=run_shell, record=target, program=program, say=say
    )


def find_model(args: ServerArgs, say: Tongue = ENGLISH) -> Path:
    """The directory of the model, downloaded or converted first where needed.

    Converting needs torch, of which the API server is to stay free, so that is
    done by a worker, which does not outlive this process either.

    Raises:
        StartError: the model cannot be had.
        SystemExit: a signal came first.
    """
    if args.model is None or Path(args.model).expanduser().is_dir():
        try:
            return resolve_model(args.model)
        except ModelError as error:
            raise StartError(sentence_of(error)) from None

    from ..workers.children import Children
    from ..workers.signals import StopSignals

    preparing = Sentence("preparing {model}, which may take minutes the first time", model=args.model)
    print(say(preparing), file=sys.stderr)
    with StopSignals() as signals, Children(args.log_level) as children:
        answer = children.directory / "model"
        children.start("minisgl-model-finder", _find_model, args, answer)
        interrupt = children.wait_ready(signals)
        if interrupt is not None:
            raise SystemExit(128 + interrupt)
        return Path(answer.read_text(encoding="utf-8"))


def _find_model(args: ServerArgs, answer: Path, ready: Ready) -> None:
    answer.write_text(str(resolve_model(args.model, args.dtype, args.model_source)), encoding="utf-8")
    ready()


def _record_target(args: ServerArgs) -> RecordTarget | None:
    if args.record is None:
        return None
    try:
        return RecordTarget.create(
            Path(args.record), args.record_messages, args.record_max_bytes, args.record_rotate, args.redact
        )
    except OSError as error:
        raise StartError(
            Sentence(
                "{record} cannot be written ({reason}); give --record another",
                record=args.record,
                reason=reason_of(error),
            )
        ) from None
