"""What a reader's code raised in a task or in a callback, where nobody waits for it.

A task that a component keeps, such as the one that listens for replies, ends by it in silence; what
shows is that nothing happens any more.
"""

from __future__ import annotations

import asyncio
import traceback
from typing import Any

from ..server.openai.failure import RequestFailed
from ..server.openai.sse import ClientDisconnected

ENDS = (RequestFailed, ClientDisconnected)
"""How a request may end, whoever still waits for it."""


class Unhandled:
    """Watches one loop. ``first``: the first one that nobody had taken note of at the end."""

    def __init__(self) -> None:
        self.first: Exception | None = None
        self._failed: list[asyncio.Task[Any]] = []
        self._raised: list[Exception] = []

    def watch(self) -> None:
        """From now on, in the running loop; whoever sets a task factory or a handler of its own, watches."""
        loop = asyncio.get_running_loop()
        loop.set_task_factory(self._new_task)
        loop.set_exception_handler(self._handle)

    def conclude(self) -> None:
        """What is raised from now on, as what is left over is cancelled, does not count."""
        # Asking a task for its exception would be taking note.
        unseen = [task for task in self._failed if getattr(task, "_log_traceback", False)]
        raised = [*self._raised, *(task.exception() for task in unseen)]
        self.first = next((each for each in raised if isinstance(each, Exception) and _readers(each)), None)

    def _new_task(self, loop: asyncio.AbstractEventLoop, coro: Any, **kwargs: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.Task(coro, loop=loop, **kwargs)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        if getattr(task, "_log_traceback", False):
            self._failed.append(task)

    def _handle(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, Exception):
            self._raised.append(error)
        loop.default_exception_handler(context)


def _readers(error: Exception) -> bool:
    """Whether it came through the reader's file, and is no way for a request to end."""
    return not isinstance(error, ENDS) and line_of(error) > 0


def line_of(error: BaseException) -> int:
    """The innermost line of the reader's file, whichever it is, that the exception passed through; or 0."""
    frames = traceback.walk_tb(error.__traceback__)
    lines = [line for frame, line in frames if "__reader_file__" in frame.f_globals]
    return lines[-1] if lines else 0
