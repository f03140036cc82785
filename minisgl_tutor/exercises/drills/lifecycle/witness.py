"""Watches a play from outside: who was answered, what was kept when a request had ended, what went wrong.

What a reader's code makes (tasks, generators) and is given (requests) is held
here until the play is over, so that nothing is cleaned up by the garbage
collector or by a reference count that falls to zero: only by code.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncGenerator
from contextvars import ContextVar
from pathlib import Path
from types import ModuleType
from typing import Any

from starlette.requests import Request

from ....server.frontend import FrontendManager
from ....server.openai.answer import Completed, ResponseForm
from ....server.openai.failure import RequestFailed
from ....server.openai.sse import ClientDisconnected
from ....trace.asgi import Exchange
from ....trace.clock import VirtualTimeLoop
from ...reader_file import raised
from ...wire import Raised
from .kept import Keeping
from .observation import Seen

EXPECTED = (RequestFailed, ClientDisconnected, OSError, asyncio.CancelledError)
"""What a request may end with."""

OVER = ("completed", "truncated", "left")

TURNS = 10
"""Of the loop, at one instant: in these a task ends that is ready to, or that has been cancelled."""


class Witness:
    """One play's. ``file`` and ``module`` are the reader's, or null when the server's own class plays.

    ``injected``: what the exceptions say that the play itself raises.
    """

    def __init__(self, file: Path | None, module: ModuleType | None) -> None:
        self.background: list[Raised] = []
        self.waiting: list[str] = []
        self.exchanges: dict[int, Exchange] = {}
        self.uids: dict[int, int] = {}
        self.finished = False
        self.injected: set[str] = set()
        self._file = file
        self._module = module
        self._keeping: Keeping | None = None
        self._kept: dict[int, list[str]] = {}
        self._sizes: dict[int, dict[str, int]] = {}
        self._held: list[object] = []
        self._tasks: list[asyncio.Task[Any]] = []
        self._own_tasks: list[asyncio.Task[Any]] = []
        self._collecting: ContextVar[int | None] = ContextVar("collecting", default=None)
        self._begun: dict[int, list[asyncio.Task[Any]]] = {}
        self._left: dict[int, list[asyncio.Task[Any]]] = {}
        self._left_by_collect: dict[int, list[str]] = {}

    # -- before

    def watched(self, cls: type[FrontendManager]) -> type[FrontendManager]:
        """``cls``, whose object is looked at and whose arguments are held."""
        witness = self

        class Watched(cls):  # type: ignore[valid-type, misc]
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                super().__init__(*args, **kwargs)
                witness._keeping = Keeping(self, witness._module)

            def held(self) -> dict[int, dict[str, int]]:
                return {}  # the witness looks by itself, and nobody else needs to know here

            async def collect(self, uid: int, request: Request) -> Completed:
                witness._held.append(request)
                witness._collecting.set(uid)
                try:
                    answer: Completed = await super().collect(uid, request)
                    return answer
                finally:
                    witness._collecting.set(None)
                    await witness._collected(uid)

            def stream_chat_completions(self, uid: int, form: ResponseForm) -> AsyncGenerator[bytes, None]:
                witness._held.append(form)
                chunks: AsyncGenerator[bytes, None] = super().stream_chat_completions(uid, form)
                return chunks

            def stream_with_cancellation(
                self, generator: AsyncGenerator[bytes, None], request: Request, uid: int
            ) -> AsyncGenerator[bytes, None]:
                witness._held.append(request)
                chunks: AsyncGenerator[bytes, None] = super().stream_with_cancellation(
                    generator, request, uid
                )
                return chunks

        return Watched

    def begin(self) -> VirtualTimeLoop:
        """To be called first of all in the loop's main task."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        hooks = sys.get_asyncgen_hooks()

        def first_step(generator: AsyncGenerator[Any, Any]) -> None:
            self._held.append(generator)
            if hooks.firstiter is not None:
                hooks.firstiter(generator)

        def new_task(loop: asyncio.AbstractEventLoop, coro: Any, **kwargs: Any) -> asyncio.Task[Any]:
            task = asyncio.Task(coro, loop=loop, **kwargs)
            self._tasks.append(task)
            if (uid := self._collecting.get()) is not None:
                self._begun.setdefault(uid, []).append(task)
            return task

        sys.set_asyncgen_hooks(firstiter=first_step)
        loop.set_task_factory(new_task)
        loop.set_exception_handler(self._failed)
        self._own_tasks += loop.pending()
        return loop

    def own(self, task: asyncio.Task[Any]) -> None:
        """The task is the rig's, not the server's."""
        self._own_tasks.append(task)

    def follow(self, index: int, exchange: Exchange) -> None:
        """Looks at what is kept when the call of the app for this client has ended."""
        self.exchanges[index] = exchange
        loop = asyncio.get_running_loop()
        self.own(loop.create_task(self._when_over(index, exchange), name=f"witness of {index}"))

    # -- meanwhile

    def held(self) -> dict[int, dict[str, int]]:
        held: dict[int, dict[str, int]] = {}
        for where, uid in sorted(self._keeping.now()) if self._keeping is not None else ():
            held.setdefault(uid, {})[where] = 1
        return held

    async def _when_over(self, index: int, exchange: Exchange) -> None:
        await exchange.wait_app()
        # To the end of the instant: what is ready to run runs, and nothing that waits for time or a message.
        await asyncio.sleep(1e-6)
        others = {uid for other, uid in self.uids.items() if other != index}
        self._kept[index] = sorted(
            {where for uid, parts in self.held().items() if uid not in others for where in parts}
        )
        self._sizes[index] = self._keeping.sizes() if self._keeping is not None else {}

    async def _collected(self, uid: int) -> None:
        """Notes what ``collect`` has begun and not ended. Once the client has its answer, ``receive`` ends by
        itself, and who waits in it.
        """
        for _ in range(TURNS):
            begun = set(self._begun.get(uid, ())) - set(self._own_tasks)
            left = [task for task in begun if not task.done()]
            if not left:
                return
            await asyncio.sleep(0)
        self._left[uid] = left

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if error is not None and not self.finished:
            self._note(error)

    def _note(self, error: BaseException) -> None:
        if not isinstance(error, EXPECTED) and str(error) not in self.injected:
            self.background.append(self.raised(error))

    def raised(self, error: BaseException) -> Raised:
        return raised(error, self._file)

    def _line_in_text(self, trace: str) -> int:
        lines = re.findall(rf'File "{re.escape(str(self._file))}", line (\d+)', trace)
        return int(lines[-1]) if lines else 0

    # -- after

    def finish(self) -> None:
        """To be called last of all in the loop's main task, when all is quiet."""
        self.waiting = [
            _name(task)
            for task in self._tasks
            if not task.done() and task not in self._own_tasks and task.get_name() not in self._serving()
        ]
        # One that still goes on may be a helper, and is counted among those that wait.
        self._left_by_collect = {
            uid: sorted(_name(task) for task in tasks if task.done()) for uid, tasks in self._left.items()
        }
        for task in self._tasks:
            # A task may have failed unseen, or seen only by somebody who was glad that it had ended.
            if task.done() and not task.cancelled() and (error := task.exception()) is not None:
                self._note(error)
        self.finished = True

    def _serving(self) -> set[str]:
        return {exchange.name for exchange in self.exchanges.values()}

    def kept(self, clients: int) -> list[list[str]]:
        """By client, where something of it is kept now. What belongs to no known client is the last one's."""
        held = self.held()
        mine = {uid: index for index, uid in self.uids.items()}
        kept: list[set[str]] = [set() for _ in range(clients)]
        for uid, parts in held.items():
            kept[mine.get(uid, -1)].update(parts)
        return [sorted(each) for each in kept]

    def seen(self, index: int) -> Seen:
        seen = Seen(uid=self.uids.get(index))
        exchange = self.exchanges.get(index)
        if exchange is None:
            return seen
        seen.status, seen.body = exchange.status, exchange.body
        chunks = [event for event in exchange.events if event.kind == "chunk" and event.data]
        seen.chunks_us = [event.at_us for event in chunks]
        seen.sizes = [len(event.data) for event in chunks]
        for event in exchange.events:
            if event.kind in OVER:
                seen.end, seen.end_us = event.kind, event.at_us
            elif event.kind in ("app returned", "app failed"):
                seen.app, seen.app_us = event.kind.removeprefix("app "), event.at_us
            if event.kind == "app failed":
                seen.raised = Raised.told(str(event.note), self._line_in_text(exchange.app_traceback))
        seen.tasks = self._left_by_collect.get(self.uids.get(index, -1), [])
        seen.kept, seen.elements = self._kept.get(index, []), self._sizes.get(index, {})
        return seen


def _name(task: asyncio.Task[Any]) -> str:
    """The one that it was given, else that of its coroutine."""
    name = task.get_name()
    return getattr(task.get_coro(), "__qualname__", name) if name.startswith("Task-") else name
