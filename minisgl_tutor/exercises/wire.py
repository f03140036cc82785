"""What the checker and its child process tell each other, over private pipes.

The checker sends jobs; the child answers each in order, and ends with ``Done``.
Every answer repeats the checker's nonce. A transcript counts only if all of it
has come. What a job asks and what was seen are the exercise's own: they cross as
bytes, and each side decodes them by its drill's types. Sentences cross as text and values,
in no language but that of the code.
"""

from __future__ import annotations

from typing import Any, BinaryIO

import msgspec

from ..language import Sentence, joined
from ..language.wire import Said
from ..recording import Recording

MAX_FRAME_BYTES = 64 << 20

# -- jobs


class PlayJob(msgspec.Struct, frozen=True, tag=True):
    """Play this; ``job`` is of the drill's ``job_type``, encoded."""

    number: int
    job: bytes


class StepsJob(msgspec.Struct, frozen=True, tag=True):
    """Play this recording as ``trace`` would, under that ASGI version, and list the steps."""

    number: int
    recording: Recording
    spec: str


class Stop(msgspec.Struct, frozen=True, tag=True):
    """There are no more jobs."""


Job = PlayJob | StepsJob | Stop

# -- answers


class Raised(msgspec.Struct, frozen=True):
    """An exception: its type, and what it says; ``line`` of the reader's file is 0 if it did not pass
    through it, and then ``place`` may say where it was raised.
    """

    kind: str
    says: Said
    line: int
    place: Said = Said()

    @classmethod
    def told(cls, text: str, line: int) -> Raised:
        """One of which only ``type: text`` is known."""
        kind, _, says = text.partition("\n")[0].rstrip(": ").partition(": ")
        return cls(kind, Said(says[:200]), line)

    def values(self) -> dict[str, Any]:
        """What a report tells of it."""
        return {"text": self.sentence(), "line": self.line}

    def sentence(self) -> Sentence:
        what, place = self.says.sentence(), self.place.sentence()
        if not what:
            return joined("", [Sentence(self.kind), place])
        return joined("", [Sentence("{kind}: {what}", kind=self.kind, what=what), place])


class Played(msgspec.Struct, frozen=True, tag=True):
    """``seen`` is of the drill's ``seen_type``, encoded; or ``stopped`` says why the play could not go on.

    ``blocked``: calls that would have held up the whole loop.
    """

    number: int
    nonce: str
    seen: bytes
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
    why: Said
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


Answer = Played | Steps | Started | Ready | NotLoaded | Stuck | OutOfMemory | Broken | Done

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
