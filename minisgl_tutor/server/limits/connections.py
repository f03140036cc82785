"""Ends connections that stand still: those without a request, and those whose client has stopped reading.

uvicorn ends a connection that was idle after an answer, but keeps for ever one that
never sent a whole request, and one that never takes what was sent to it. They are
checked now and then, as a time limit for each chunk would cost every token.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary, ref

logger = logging.getLogger(__name__)


class ConnectionWatch:
    """Closes what stands still, as ``sweep`` finds it: a connection that has had no
    request for ``idle_s``, and one that took no byte of what waits for it for ``write_s``.
    """

    def __init__(self, idle_s: float, write_s: float) -> None:
        self._idle_s = idle_s
        self._write_s = write_s
        self._seen: WeakKeyDictionary[Any, tuple[object, float]] = WeakKeyDictionary()

    def sweep(self, connections: Iterable[Any], now: float) -> None:
        """``connections`` are uvicorn's protocols, each with its ``transport`` and its ``cycle``,
        the request that it has, or had last.
        """
        for connection in list(connections):
            waiting = connection.transport.get_write_buffer_size()
            state = waiting or _idle_since(connection)
            if state is None:
                self._seen.pop(connection, None)
                continue
            before, since = self._seen.get(connection, (None, now))
            if before != state:
                self._seen[connection] = (state, now)
            elif waiting and now - since >= self._write_s:
                logger.warning("a client took nothing for %g s: its connection is ended", now - since)
                connection.transport.abort()
            elif not waiting and now - since >= self._idle_s:
                connection.transport.close()


def _idle_since(connection: Any) -> object:
    """What the connection has been idle since, its last request or its beginning; None if it is not idle."""
    cycle = connection.cycle
    if cycle is None:
        return "its beginning"
    # Not by its id, which a later request may have as well; and not itself, as it keeps its connection.
    return ref(cycle) if cycle.response_complete else None
