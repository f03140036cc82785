"""It waits with time.sleep: the listener, which is to file the replies, never runs.

Fails: one-request: stuck
"""

from __future__ import annotations

import time

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
        time.sleep(0.05)
    return {"text": "".join(each.incremental_output for each in state.ack_map.pop(uid))}
