"""A gate lets six requests through at a time.

Fails: eight-at-once: queued
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
    if not hasattr(request.app.state, "gate"):
        request.app.state.gate = asyncio.Semaphore(6)
    async with request.app.state.gate:
        uid = await state.submit(req.prompt, SamplingParams())
        return {"text": (await state.collect(uid, request)).text}
