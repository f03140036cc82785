"""Who would have to wait gets an empty text.

Fails: short-behind-long: text
"""

from __future__ import annotations

from fastapi import Request
from pydantic import BaseModel

from minisgl_tutor.message import SamplingParams
from minisgl_tutor.server.api_server import get_global_state

waiting: set[int] = set()


class GenerateRequest(BaseModel):
    prompt: str


async def generate(req: GenerateRequest, request: Request) -> dict[str, str]:
    state = get_global_state(request)
    uid = await state.submit(req.prompt, SamplingParams())
    if waiting:
        return {"text": ""}
    waiting.add(uid)
    try:
        return {"text": (await state.collect(uid, request)).text}
    finally:
        waiting.discard(uid)
