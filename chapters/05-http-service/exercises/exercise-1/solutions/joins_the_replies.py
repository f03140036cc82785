"""The handler takes the replies one by one, and is suspended in between."""

from __future__ import annotations

from fastapi import Request
from pydantic import BaseModel

from minisgl_tutor.message import SamplingParams
from minisgl_tutor.server.api_server import get_global_state


class GenerateRequest(BaseModel):
    prompt: str


async def generate(req: GenerateRequest, request: Request) -> dict[str, str]:
    state = get_global_state(request)
    uid = await state.submit(req.prompt, SamplingParams(max_tokens=100))
    async with state.own(uid):
        return {"text": "".join([each.incremental_output async for each in state.wait_for_ack(uid)])}
