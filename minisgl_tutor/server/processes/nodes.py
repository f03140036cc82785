"""Ranks that are launched one by one, as on several machines: by torch's standard launch variables.

``torchrun`` sets them, and so can a person: MASTER_ADDR and MASTER_PORT, where rank 0 is found;
WORLD_SIZE and RANK; LOCAL_RANK and LOCAL_WORLD_SIZE, for the GPUs of one machine.
The launch of rank 0 is the server. Each other one has a scheduler and nothing else, and ends when
rank 0 does. What ranks send to each other is not encrypted: their network must be a trusted one.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from ...distributed.seat import Seat
from ...language import ENGLISH, Sentence, Tongue
from ..config import ServerArgs
from ..workers.children import Children
from ..workers.errors import StartError
from ..workers.signals import StopSignals
from .scheduler_process import run_follower

logger = logging.getLogger(__name__)


def seat_of_launch(tp: int, environ: Mapping[str, str]) -> Seat | None:
    """The rank that this launch is to have; ``None`` if it is to start all ranks.

    Raises:
        StartError: the launch variables are incomplete, or do not fit ``tp``.
    """
    if environ.get("WORLD_SIZE", "1") == "1":
        return None
    try:
        rank, size = int(environ["RANK"]), int(environ["WORLD_SIZE"])
        local_rank, local_size = int(environ.get("LOCAL_RANK", 0)), int(environ.get("LOCAL_WORLD_SIZE", 1))
        int(environ["MASTER_PORT"]), environ["MASTER_ADDR"]
    except KeyError as error:
        raise StartError(
            Sentence(
                "WORLD_SIZE is set but {name} is not; start with torchrun, or unset WORLD_SIZE",
                name=error.args[0],
            )
        ) from None
    except ValueError as error:
        raise StartError(
            Sentence("a launch variable of torch is not a number: {reason}", reason=str(error))
        ) from None
    if size != tp:
        raise StartError(
            Sentence(
                "WORLD_SIZE is {size} but --tp is {tp}; give --tp {size}, or unset WORLD_SIZE",
                size=size,
                tp=tp,
            )
        )
    if not 0 <= rank < size or not 0 <= local_rank < local_size <= size:
        raise StartError(
            Sentence(
                "RANK {rank} of WORLD_SIZE {size} and LOCAL_RANK {local_rank} of LOCAL_WORLD_SIZE "
                "{local_size} do not fit together",
                rank=rank,
                size=size,
                local_rank=local_rank,
                local_size=local_size,
            )
        )
    return Seat(rank, size, local_rank, local_size, meeting=None)


def run_other_rank(args: ServerArgs, model_dir: Path, seat: Seat, say: Tongue = ENGLISH) -> int:
    """Runs a rank other than 0 until it is told to stop, or until it or rank 0 is gone.

    Returns:
        The exit status: 0 after a signal, 1 after an end that nobody asked for, 128 and the
        signal's number if one came before the rank was ready.

    Raises:
        StartError: it cannot start. Nothing is left behind.
    """
    with StopSignals() as signals, Children(args.log_level) as children:
        children.start(f"minisgl-TP{seat.rank}-scheduler", run_follower, args, model_dir, seat)
        interrupt = children.wait_ready(signals)
        if interrupt is not None:
            return 128 + interrupt
        ready = Sentence("minisgl-tutor: rank {rank} of {size} is ready", rank=seat.rank, size=seat.size)
        print(say(ready), flush=True)
        ending = children.wait_end(signals)
        if ending is None:
            return 0
        logger.critical("%s; this rank ends", ending)
        return 1
