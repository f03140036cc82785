"""Several answers to one request: each has a uid of its own, and they live and die together.

``n`` and lists of prompts ask for them. Each choice is a request like any other
from the front end on; here they are put together again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any, TypeVar

from starlette.requests import Request

from .frontend import FrontendManager
from .openai.answer import Completed, ResponseForm
from .openai.failure import RequestFailed, error_body
from .openai.request_model import Ask
from .openai.sse import DONE, event

T = TypeVar("T")


async def submit_all(
    state: FrontendManager, asks: Sequence[Ask], stamp: Callable[[int], T]
) -> tuple[list[int], list[T]]:
    """Submits each, and has it stamped at once; uids and stamps. If one cannot be submitted, none stays.

    Raises:
        RequestFailed: one was refused.
    """
    uids: list[int] = []
    stamps: list[T] = []
    try:
        for ask in asks:
            uids.append(await state.submit(ask.prompt, ask.sampling_params))
            stamps.append(stamp(uids[-1]))
    except BaseException:
        for uid in uids:
            await state.end_user(uid)
        raise
    return uids, stamps


async def collect_all(state: FrontendManager, uids: Sequence[int], request: Request) -> list[Completed]:
    """The whole answers, in the order of ``uids``. If one fails the others are aborted.

    Raises:
        RequestFailed: one ended with an error.
        ClientDisconnected: nobody waits for them any more.
    """
    if len(uids) == 1:
        return [await state.collect(uids[0], request)]
    async with _together(state, {uid: state.collect(uid, request) for uid in uids}) as tasks:
        return await asyncio.gather(*tasks)


def stream_all(
    state: FrontendManager, forms: dict[int, ResponseForm], request: Request
) -> AsyncGenerator[bytes, None]:
    """The events of all choices; ``forms`` are by uid. If one fails the others are aborted.

    Raises:
        RequestFailed: one ended with an error before anything was sent.
    """
    streams = {
        uid: state.stream_with_cancellation(state.stream_chat_completions(uid, form), request, uid)
        for uid, form in forms.items()
    }
    if len(streams) == 1:
        return next(iter(streams.values()))
    return _merged(state, streams)


async def _merged(
    state: FrontendManager, streams: dict[int, AsyncGenerator[bytes, None]]
) -> AsyncGenerator[bytes, None]:
    """The events of all streams as they come, and one end mark. A stream without its own has failed."""
    came: asyncio.Queue[bytes | Exception] = asyncio.Queue(1)

    async def pump(stream: AsyncGenerator[bytes, None]) -> None:
        chunk = b""
        try:
            async with aclosing(stream):
                async for chunk in stream:
                    await came.put(chunk)
        except Exception as error:
            await came.put(error)
        else:
            if not chunk.endswith(DONE):
                await came.put(_Broken())

    unfinished, sent = len(streams), False
    async with _together(state, {uid: pump(stream) for uid, stream in streams.items()}):
        while unfinished:
            item = await came.get()
            if isinstance(item, _Broken):
                return
            if isinstance(item, RequestFailed) and sent:
                yield event(error_body(item.reply))
                return
            if isinstance(item, Exception):
                raise item
            unfinished -= item.endswith(DONE)
            if chunk := item.removesuffix(DONE):
                yield chunk
                sent = True
    yield DONE


class _Broken(Exception):
    """A stream told of an error itself, and is over."""


@asynccontextmanager
async def _together(
    state: FrontendManager, works: dict[int, Coroutine[Any, Any, T]]
) -> AsyncIterator[list[asyncio.Task[T]]]:
    """Runs what owns each uid as a task of its own. At the end of the block all have ended."""
    begun: set[int] = set()

    async def begin(uid: int, work: Coroutine[Any, Any, T]) -> T:
        begun.add(uid)
        return await work

    tasks = [asyncio.create_task(begin(uid, work), name=f"choice {uid}") for uid, work in works.items()]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for uid in sorted(works.keys() - begun):
            works[uid].close()
            await state.end_user(uid)
