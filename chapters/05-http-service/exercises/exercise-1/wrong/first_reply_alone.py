"""The first reply is taken for the answer.

Fails: one-request: text
"""

from __future__ import annotations

from fastapi import Request
from pydantic import BaseModel

from minisgl_tutor.message import SamplingParams
from minisgl_tutor.server.api_server import get_global_state


class GenerateRequest(BaseModel):
    prompt: str


async def generate(req: GenerateRequest, request: Request) -> dict[str, str]:
    state = get_global_state(request)
    uid = await state.submit(req.prompt, SamplingParams())
    async for each in state.wait_for_ack(uid):
        return {"text": each.incremental_output}
    return {"text": ""}
