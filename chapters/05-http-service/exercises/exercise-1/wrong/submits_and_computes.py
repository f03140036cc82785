"""The request is sent to the backend, and its text computed here again.

Fails: one-request: heart
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
    text = request.app.state.model.generate(req.prompt)
    await state.collect(uid, request)
    return {"text": text}
