"""The uid is kept where the next request overwrites it.

Fails: short-behind-long: never-ends
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
    request.app.state.uid = await state.submit(req.prompt, SamplingParams())
    text = ""
    finished = False
    while not finished:
        await state.event_map[request.app.state.uid].wait()
        state.event_map[request.app.state.uid].clear()
        replies, state.ack_map[request.app.state.uid] = state.ack_map[request.app.state.uid], []
        text += "".join(each.incremental_output for each in replies)
        finished = any(each.finished for each in replies)
    return {"text": text}
