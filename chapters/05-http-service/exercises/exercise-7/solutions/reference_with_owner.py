"""The starter, with the smallest change: the two consumers clean up after themselves, whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from starlette.requests import Request

from minisgl_tutor.message import AbortMsg, SamplingParams, TokenizeMsg
from minisgl_tutor.server.frontend import FrontendManager, Reply
from minisgl_tutor.server.openai.answer import Completed


class MyFrontendManager(FrontendManager):
    def new_user(self) -> int:
        uid = self.uid_counter
        self.uid_counter += 1
        self.ack_map[uid] = []
        self.event_map[uid] = asyncio.Event()
        self.unanswered.add(uid)
        return uid

    async def submit(self, text: str | list[dict[str, str]], sampling_params: SamplingParams) -> int:
        uid = self.new_user()
        sent = False
        try:
            await self.send_one(TokenizeMsg(uid=uid, text=text, sampling_params=sampling_params))
            sent = True
        finally:
            if not sent:
                self.forget(uid)
        return uid

    async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
        event = self.event_map[uid]
        while True:
            await event.wait()
            event.clear()
            pending = self.ack_map[uid]
            self.ack_map[uid] = []
            for ack in pending:
                yield ack

    async def collect(self, uid: int, request: Request) -> Completed:
        try:
            return await super().collect(uid, request)
        finally:
            self.clean(uid)

    async def stream_with_cancellation(
        self, generator: AsyncGenerator[bytes, None], request: Request, uid: int
    ) -> AsyncGenerator[bytes, None]:
        try:
            async for chunk in generator:
                yield chunk
        finally:
            self.clean(uid)

    def clean(self, uid: int) -> None:
        unanswered = uid in self.unanswered
        self.forget(uid)
        if unanswered:
            self.send_tokenizers[uid % len(self.send_tokenizers)].put_nowait(AbortMsg(uid=uid))

    async def abort_user(self, uid: int) -> None:
        self.clean(uid)
