"""It looks for the replies a thousand times a second.

Fails: one-request: busy
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
    while not any(each.finished for each in state.ack_map[uid]):
        await asyncio.sleep(0.001)
    return {"text": "".join(each.incremental_output for each in state.ack_map.pop(uid))}
