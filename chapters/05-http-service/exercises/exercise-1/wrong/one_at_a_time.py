"""A lock around all of it: the loop is free, and the next request is not even sent.

Fails: short-behind-long: queued
"""

from __future__ import annotations

import asyncio

from fastapi import Request
from pydantic import BaseModel

from minisgl_tutor.message import SamplingParams
from minisgl_tutor.server.api_server import get_global_state


class GenerateRequest(BaseModel):
    prompt: str


async def generate(req: GenerateRequest, request: Request) -> dict[str, str]:
    state = get_global_state(request)
    async with vars(state).setdefault("lock", asyncio.Lock()):
        uid = await state.submit(req.prompt, SamplingParams())
        answer = await state.collect(uid, request)
    return {"text": answer.text}
