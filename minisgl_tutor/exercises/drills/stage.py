"""A recording played with all components, those of a reader's file among them, and what its clients saw."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ...language.wire import Said
from ...recording import Recording
from ...tokenizer.tokenizer import Tokenizer
from ...trace.play import Player
from ...trace.steps import Step
from ..drill import Found, Reader, ReaderRaised, in_virtual_time
from ..unhandled import line_of
from .lifecycle.kept import grown, sizes_of
from .route import failure

FAILS, UNANSWERED, MADE_FOR_NOBODY, LEFT_BEHIND = "fails", "unanswered", "made-for-nobody", "left-behind"
GROWS = "grows"

LAST_US = 1 << 50
"""Behind all that happens."""


class StageJob(msgspec.Struct, frozen=True, tag=True):
    recording: Recording


class ClientSeen(msgspec.Struct, frozen=True):
    """What came of a client: ``end`` is how its side of the exchange was over, if it was. ``chunks`` says
    when each piece of the body came, and how long it was.
    """

    status: int | None
    body: bytes
    end: str
    end_us: int
    chunks: list[tuple[int, int]] = []

    @property
    def pieces(self) -> Iterator[tuple[int, bytes]]:
        """The body as it came."""
        begin = 0
        for at_us, length in self.chunks:
            yield at_us, self.body[begin : begin + length]
            begin += length


class MessageSeen(msgspec.Struct, frozen=True):
    """A message between components: its type, where to, and its fields."""

    t_us: int
    kind: str
    target: str
    client: int
    finished: bool = False
    reason: str | None = None
    token: int | None = None
    text: str = ""


class StageSeen(msgspec.Struct):
    """A play. ``forwards``: time and clients of each call of the engine; ``held``: component and client of
    what was left at the end. ``books`` says what did not add up in the scheduler's, ``failed`` what
    ended it, and ``failed_line`` where in the reader's file. ``sizes``: how much the components and the
    reader's module had, by where, as each client asked and at the end.
    """

    clients: list[ClientSeen] = []
    messages: list[MessageSeen] = []
    forwards: list[tuple[int, list[int]]] = []
    held: list[tuple[str, int]] = []
    failed: Said | None = None
    failed_line: int = 0
    books: Said | None = None
    sizes: list[dict[str, int]] = []


def on_stage(recording: Recording, tokenizer: Tokenizer, reader: Reader) -> StageSeen:
    """Plays the recording under the virtual clock, with the reader's classes if there are any.

    Raises:
        ReaderRaised: a call that serves a client went through the file, and failed.
        Exception: what the reader's code, or the clock because of it, raised.
    """
    seen = StageSeen()

    def on_step(step: Step) -> None:
        if step.kind == "client" and step.title == "request":
            seen.sizes.append(sizes_of(player.components, reader.module))

    player = Player(recording, tokenizer, (), reader.classes, "2.3", on_step)
    result = in_virtual_time(player.play)
    seen.sizes.append(sizes_of(player.components, reader.module))
    client_of = {uid: client for client, uid in result.uids.items()}
    for _, exchange in sorted(result.exchanges.items()):
        if (raised := failure(exchange, reader.path)) is not None and raised.line:
            raise ReaderRaised(raised)
        ends = [each for each in exchange.events if each.kind in ("completed", "truncated", "left")]
        end, end_us = (ends[-1].kind, ends[-1].at_us) if ends else ("waiting", 0)
        chunks = [(each.at_us, len(each.data)) for each in exchange.events if each.kind == "chunk"]
        seen.clients.append(ClientSeen(exchange.status, exchange.body, end, end_us, chunks))
    for step in result.steps:
        if step.kind == "message":
            seen.messages += [_message(step, each, client_of) for each in step.content]
        elif step.title == "forward_batch":
            seen.forwards.append((step.t_us, [client_of.get(uid, -1) for uid in step.uids]))
        elif step.kind == "gap" and step.note.text.startswith("the scheduler fails"):
            seen.failed, seen.failed_line = Said.of(step.note), line_of(step.note.values["error"])
        elif step.kind == "gap" and step.note.text.startswith("the books do not add up"):
            seen.books = seen.books or Said.of(step.note.values["problem"])
    parts = sorted(result.held.items())
    seen.held = [(name, client_of.get(uid, -1)) for name, held in parts for uid in sorted(held)]
    return seen


def name_of(client: int) -> str:
    """What a client is called in a report."""
    return "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[client % 26]


def failed(seen: StageSeen) -> Iterator[Found]:
    """That the scheduler has ended, if it has."""
    if seen.failed:
        yield Found(FAILS, {"text": seen.failed.sentence(), "line": seen.failed_line})


def left_behind(seen: StageSeen) -> Iterator[Found]:
    """What goes wrong with clients that leave: nothing may be computed for them, or kept."""
    yield from failed(seen)
    if seen.failed:
        return
    for index, client in enumerate(seen.clients):
        name = {"request": name_of(index)}
        if client.end == "waiting":
            yield Found(UNANSWERED, name, index, LAST_US)
        if client.end == "left":
            # The step that runs then, and the one that was launched behind it.
            later = [at_us for at_us, clients in seen.forwards if index in clients and at_us > client.end_us]
            if len(later) > 1:
                yield Found(MADE_FOR_NOBODY, {**name, "count": len(later)}, index, later[-1])
        parts = sorted({part for part, of in seen.held if of == index})
        if parts:
            yield Found(LEFT_BEHIND, {**name, "parts": parts}, index, LAST_US)
    if where := grown(seen.sizes):
        yield Found(GROWS, {"count": len(seen.clients), "where": where}, len(seen.clients) - 1, LAST_US)


def _message(step: Step, content: dict[str, object], client_of: dict[int, int]) -> MessageSeen:
    fields = {name: content.get(name) for name in ("finish_reason", "next_token", "incremental_output")}
    return MessageSeen(
        step.t_us,
        str(content["type"]),
        step.target,
        client_of.get(content["uid"], -1),  # type: ignore[call-overload]
        bool(content.get("finished")),
        fields["finish_reason"],  # type: ignore[arg-type]
        fields["next_token"],  # type: ignore[arg-type]
        str(fields["incremental_output"] or ""),
    )
