"""Both answers by hand, from the replies: a dictionary as JSON, or a generator of events."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

from fastapi import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from minisgl_tutor.message import SamplingParams
from minisgl_tutor.server.api_server import get_global_state
from minisgl_tutor.server.openai.request_model import OpenAICompletionRequest


async def v1_completions(req: OpenAICompletionRequest, request: Request) -> Response:
    state = get_global_state(request)
    fields = req.model_dump(include={"max_tokens", "temperature", "top_k", "top_p", "ignore_eos"})
    text = [each.model_dump() for each in req.messages] if req.messages else req.prompt
    uid = await state.submit(text, SamplingParams(**fields))

    async def pieces() -> AsyncIterator[str]:
        async with state.own(uid):
            async for each in state.wait_for_ack(uid):
                yield each.incremental_output

    async def chunks() -> AsyncIterator[str]:
        async for piece in pieces():
            choice = {"index": 0, "delta": {"content": piece}, "finish_reason": None}
            yield f"data: {json.dumps({'id': str(uid), 'choices': [choice]})}\n\n"
        end = {"index": 0, "delta": {}, "finish_reason": "stop"}
        yield f"data: {json.dumps({'id': str(uid), 'choices': [end]})}\n\n"
        yield "data: [DONE]\n\n"

    if req.stream:
        return StreamingResponse(chunks(), media_type="text/event-stream")
    content = "".join([piece async for piece in pieces()])
    message = {"role": "assistant", "content": content}
    return JSONResponse({"id": str(uid), "choices": [{"index": 0, "message": message}]})
