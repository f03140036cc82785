"""Chunks of one answer that leave together, as events. What they have in common is written once."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ...message import TextLogprobs
from .answer import ResponseForm
from .sse import event

HOLE = "\0"
HOLE_IN_JSON = msgspec.json.encode(HOLE)
"""No id and no model's name has this character."""


class ChunksTogether:
    """Events of ``form``'s chunks, which are to be added in their order."""

    def __init__(self, form: ResponseForm) -> None:
        self._form = form
        self._events: list[bytes] = []
        self._frame: tuple[bytes, bytes] | None = None

    def add(self, text: str, first: bool, logprobs: Sequence[TextLogprobs] = ()) -> None:
        """A further piece of the answer, as :meth:`ResponseForm.chunk` has it."""
        if first or logprobs or not text or not self._events:
            self._events.append(event(self._form.chunk(text, first, logprobs)))
            return
        if self._frame is None:
            before, _, after = event(self._form.chunk(HOLE, first=False)).partition(HOLE_IN_JSON)
            self._frame = before, after
        self._events += self._frame[0], msgspec.json.encode(text), self._frame[1]

    def take(self) -> bytes:
        """All events that were added since the last time."""
        taken = b"".join(self._events)
        self._events, self._frame = [], None
        return taken
