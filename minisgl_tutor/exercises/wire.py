"""What the checker and its child process tell each other, over private pipes.

The checker sends jobs; the child answers each in order, and ends with ``Done``.
Every answer repeats the checker's nonce. A transcript counts only if all of it
has come.
"""

from __future__ import annotations

from typing import BinaryIO

import msgspec

from ..message import ErrorReply, UserReply
from ..recording import Recording

MAX_FRAME_BYTES = 64 << 20

# -- jobs


class DeskClient(msgspec.Struct, frozen=True):
    """A client of a desk play: when it asks, what it is answered, how it reads and leaves.

    ``replies``: what comes at each step, in one batch; ``late``: how many more steps
    of it still come after an abort. ``unsent``: the link raises when its request is
    sent. ``bad_chunk``: the piece of its answer that cannot be encoded.
    ``aborts_at_us``: when ``abort_user`` is called for it, before or after what
    else happens at that instant.
    """

    t: int
    body: str
    replies: list[list[UserReply | ErrorReply]]
    late: int = 1
    unsent: bool = False
    bad_chunk: int | None = None
    chunk_us: int = 0
    buffer: int = 65536
    leaves_at_us: int | None = None
    leaves_before_chunk: int | None = None
    aborts_at_us: int | None = None
    abort_first: bool = False


class DeskJob(msgspec.Struct, frozen=True, tag=True):
    """Play these clients against the front end alone; its replies come at multiples of ``step_us``."""

    number: int
    clients: list[DeskClient]
    step_us: int
    spec: str


class StageJob(msgspec.Struct, frozen=True, tag=True):
    """Play this recording with all components."""

    number: int
    recording: Recording
    spec: str


class StepsJob(msgspec.Struct, frozen=True, tag=True):
    """Play this recording as ``trace`` would, and list the steps."""

    number: int
    recording: Recording
    spec: str


class Stop(msgspec.Struct, frozen=True, tag=True):
    """There are no more jobs."""


PlayJob = StageJob | DeskJob
Job = StageJob | DeskJob | StepsJob | Stop

# -- answers


class Raised(msgspec.Struct, frozen=True):
    """An exception; ``line`` of the reader's file is 0 if it did not pass through it."""

    text: str
    line: int


class Seen(msgspec.Struct):
    """What became of one client and of the call of the app that served it.

    ``end`` and ``end_us``: how and when the client's side was over. ``app`` and
    ``app_us``: the same of the call. ``kept``: where the front end still kept
    something of the request at the end of that instant.
    """

    uid: int | None = None
    status: int | None = None
    body: bytes = b""
    chunks_us: list[int] = []
    end: str = "waiting"
    end_us: int = 0
    app: str = "running"
    app_us: int = 0
    raised: Raised | None = None
    kept: list[str] = []


class Observation(msgspec.Struct, tag=True):
    """A play from outside. ``arrivals``: when the replies to each client reached the front end.

    ``aborts``: by client (-1: of none), when one was sent. ``kept`` and
    ``elsewhere``: what the front end and the other components still kept of each
    client when all was quiet. ``waiting``: tasks that had not ended then, other
    than those of the server. ``stopped``: why the play could not go on.
    """

    number: int
    nonce: str
    clients: list[Seen]
    arrivals: list[list[int]]
    aborts: list[tuple[int, int]]
    kept: list[list[str]]
    elsewhere: list[list[str]]
    waiting: list[str]
    background: list[Raised]
    blocked: list[Raised]
    stopped: Raised | None


class StepSeen(msgspec.Struct, frozen=True):
    number: int
    t_us: int
    title: str
    client: int | None


class Steps(msgspec.Struct, frozen=True, tag=True):
    number: int
    nonce: str
    steps: list[StepSeen]


class Started(msgspec.Struct, frozen=True, tag=True):
    """The child runs; what happens from now on is the reader's file's doing."""

    nonce: str


class Ready(msgspec.Struct, frozen=True, tag=True):
    """The reader's file is loaded."""

    nonce: str


class NotLoaded(msgspec.Struct, frozen=True, tag=True):
    """It cannot be. ``missing``: it is not there, so that nothing was judged."""

    nonce: str
    sentence: str
    missing: bool


class Stuck(msgspec.Struct, frozen=True, tag=True):
    """The reader's code has not given control back for too long; it is at ``line``. The child ends itself."""

    nonce: str
    number: int
    line: int
    function: str


class OutOfMemory(msgspec.Struct, frozen=True, tag=True):
    nonce: str
    number: int


class Broken(msgspec.Struct, frozen=True, tag=True):
    """The child itself failed, which is nobody's fault but the checker's."""

    nonce: str
    text: str


class Done(msgspec.Struct, frozen=True, tag=True):
    nonce: str
    answers: int


Answer = Observation | Steps | Started | Ready | NotLoaded | Stuck | OutOfMemory | Broken | Done

_encoder = msgspec.msgpack.Encoder()
_jobs = msgspec.msgpack.Decoder(Job)
_answers = msgspec.msgpack.Decoder(Answer)


def write(file: BinaryIO, message: Job | Answer) -> None:
    data = _encoder.encode(message)
    file.write(len(data).to_bytes(4, "big") + data)
    file.flush()


def read_job(file: BinaryIO) -> Job:
    """The next job; ``Stop`` when the checker is gone."""
    data = _read(file)
    return Stop() if data is None else _jobs.decode(data)


def read_answer(file: BinaryIO) -> Answer | None:
    """The next answer, or null when there will be none.

    Raises:
        msgspec.DecodeError: somebody else has written into the pipe.
    """
    data = _read(file)
    return None if data is None else _answers.decode(data)


def _read(file: BinaryIO) -> bytes | None:
    head = file.read(4)
    if len(head) < 4:
        return None
    length = int.from_bytes(head, "big")
    if length > MAX_FRAME_BYTES:
        raise msgspec.DecodeError("no frame is as long as that")
    data = file.read(length)
    return data if len(data) == length else None
