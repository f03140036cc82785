"""A task does the work, and the handler looks every 20 ms whether it is done.

Fails: one-request: late
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
    uid = await state.submit(req.prompt, SamplingParams())
    task = asyncio.create_task(state.collect(uid, request))
    while not task.done():
        await asyncio.sleep(0.02)
    return {"text": task.result().text}
