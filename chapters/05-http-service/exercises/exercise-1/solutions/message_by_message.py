"""What submit and wait_for_ack do, by hand: a uid, a message, and an event that wakes the handler."""

from __future__ import annotations

from fastapi import Request
from pydantic import BaseModel

from minisgl_tutor.message import SamplingParams, TokenizeMsg
from minisgl_tutor.server.api_server import get_global_state


class GenerateRequest(BaseModel):
    prompt: str


async def generate(req: GenerateRequest, request: Request) -> dict[str, str]:
    state = get_global_state(request)
    uid = state.new_user()
    pieces: list[str] = []
    try:
        turns = [{"role": "user", "content": req.prompt}]
        await state.send_one(TokenizeMsg(uid=uid, text=turns, sampling_params=SamplingParams()))
        finished = False
        while not finished:
            await state.event_map[uid].wait()
            state.event_map[uid].clear()
            replies, state.ack_map[uid] = state.ack_map[uid], []
            pieces += [each.incremental_output for each in replies]
            finished = any(each.finished for each in replies)
    finally:
        state.forget(uid)
    return {"text": "".join(pieces)}
