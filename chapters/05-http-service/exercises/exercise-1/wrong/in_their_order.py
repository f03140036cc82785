"""Answers go out in the order in which their requests came.

Fails: short-behind-long: late
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
    """Answers go out in the order in which their requests came."""
    state = get_global_state(request)
    uid = await state.submit(req.prompt, SamplingParams())
    before = getattr(request.app.state, "last", None)
    request.app.state.last = task = asyncio.create_task(state.collect(uid, request))
    if before is not None:
        await asyncio.wait([before])
    return {"text": (await task).text}
