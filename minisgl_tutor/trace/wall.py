"""The date in a replay is the recording's: a chat template may put it into the prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta

from ..recording import Recording, SubmitLine

SECOND_US = 1_000_000


def recorded_clock(recording: Recording) -> Callable[[], datetime]:
    """The recorded server's local time, as far as the running play has come; without one, at its beginning.

    It is in the second that the recording has of each request.
    """
    seconds = [line.created * SECOND_US - line.t for line in recording.lines if isinstance(line, SubmitLine)]
    # The beginning as each request has it is the first instant at which it may have been, of a second's.
    begun_us = (max(seconds) + min(seconds) + SECOND_US) // 2 if seconds else 0
    offset = recording.header.utc_offset
    begun = datetime(1970, 1, 1) + timedelta(microseconds=begun_us)
    local = begun + timedelta(seconds=offset if isinstance(offset, int) else 0)

    def now() -> datetime:
        try:
            played_s = asyncio.get_running_loop().time()
        except RuntimeError:
            played_s = 0.0
        return local + timedelta(seconds=played_s)

    return now
