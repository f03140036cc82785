"""The JSON goes out piece by piece as the replies come."""

from __future__ import annotations

from fastapi import Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from minisgl_tutor.message import SamplingParams
from minisgl_tutor.server.api_server import get_global_state


class GenerateRequest(BaseModel):
    prompt: str


async def generate(req: GenerateRequest, request: Request) -> StreamingResponse:
    state = get_global_state(request)
    uid = await state.submit(req.prompt, SamplingParams())

    async def body():
        import json

        yield b'{"text": "'
        async for reply in state.wait_for_ack(uid):
            yield json.dumps(reply.incremental_output)[1:-1].encode()
        yield b'"}'

    return StreamingResponse(body(), media_type="application/json")
