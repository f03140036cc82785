"""What crosses between the two halves: how a schedule is to be played, and what was seen."""

from __future__ import annotations

import msgspec

from ....language.wire import Said
from ....message import ErrorReply, UserReply
from ....recording import Recording
from ...wire import Raised

# -- jobs


class DeskClient(msgspec.Struct, frozen=True):
    """A client of a desk play: when it asks, what it is answered, how it reads and leaves.

    ``replies``: what comes at each step, in one batch; ``late``: how many more steps
    of it still come after an abort. ``unsent``: the link raises when its request is
    sent, or is cancelled if ``cancelled``; ``abort_unsent``: when an abort is. ``message_first``:
    behind the body ``receive()`` gives an empty ``http.request`` once. ``bad_chunk``: the piece of its
    answer that cannot be encoded.
    ``aborts_at_us``: when ``abort_user`` is called for it, before or after what
    else happens at that instant.
    """

    t: int
    body: str
    replies: list[list[UserReply | ErrorReply]]
    late: int = 1
    unsent: bool = False
    cancelled: bool = False
    abort_unsent: bool = False
    message_first: bool = False
    bad_chunk: int | None = None
    chunk_us: int = 0
    buffer: int = 65536
    leaves_at_us: int | None = None
    leaves_before_chunk: int | None = None
    aborts_at_us: int | None = None
    abort_first: bool = False


class DeskJob(msgspec.Struct, frozen=True, tag=True):
    """Play these clients against the front end alone; its replies come at multiples of ``step_us``."""

    clients: list[DeskClient]
    step_us: int
    spec: str


class StageJob(msgspec.Struct, frozen=True, tag=True):
    """Play this recording with all components."""

    recording: Recording
    spec: str


Job = StageJob | DeskJob

# -- what was seen


class Seen(msgspec.Struct):
    """What became of one client and of the call of the app that served it.

    ``chunks_us`` and ``sizes``: when each piece of the body came, and its bytes.
    ``end`` and ``end_us``: how and when the client's side was over. ``app`` and
    ``app_us``: the same of the call. ``kept``: where the front end still kept
    something of the request at the end of that instant. ``elements``: how many
    it had then, of whatever request, by where. ``tasks``: those that ``collect``
    had begun and that waited on when it returned.
    """

    uid: int | None = None
    status: int | None = None
    body: bytes = b""
    chunks_us: list[int] = []
    sizes: list[int] = []
    end: str = "waiting"
    end_us: int = 0
    app: str = "running"
    app_us: int = 0
    raised: Raised | None = None
    kept: list[str] = []
    elements: dict[str, int] = {}
    tasks: list[str] = []


class Observation(msgspec.Struct):
    """A play from outside. ``arrivals``: when the replies to each client reached the front end.

    ``aborts``: by client (-1: of none), when one was sent. ``kept`` and
    ``elsewhere``: what the front end and the other components still kept of each
    client when all was quiet. ``waiting``: tasks that had not ended then, other
    than those of the server. ``stopped``: why the play could not go on.
    """

    clients: list[Seen]
    arrivals: list[list[int]]
    aborts: list[tuple[int, int]]
    kept: list[list[str]]
    elsewhere: list[list[Said]]
    waiting: list[str]
    background: list[Raised]
    stopped: Raised | None
