"""Exercise 2: messages, max_tokens and stream each go their own way.

This handler of POST /v1/chat/completions hands a request on to the front end and answers its client. It
has three faults. What to do is in exercise-2.md beside this file.
"""

from __future__ import annotations

from fastapi import Request
from starlette.responses import Response

from minisgl_tutor.message import SamplingParams
from minisgl_tutor.server.api_server import get_global_state
from minisgl_tutor.server.openai.answer import ResponseForm, to_json, whole_response
from minisgl_tutor.server.openai.request_model import OpenAICompletionRequest
from minisgl_tutor.server.openai.sse import EventStream


async def v1_completions(req: OpenAICompletionRequest, request: Request) -> Response:
    state = get_global_state(request)
    text = "\n".join(f"{each.role}: {each.content}" for each in req.messages) if req.messages else req.prompt
    params = SamplingParams(
        temperature=req.temperature,
        top_k=req.top_k,
        top_p=req.top_p,
        ignore_eos=req.ignore_eos,
    )
    uid = await state.submit(text, params)
    form = ResponseForm(*request.app.state.stamp(uid), request.app.state.served_model, chat=True)
    if not req.stream:
        events = state.stream_chat_completions(uid, form)
        return EventStream(state.stream_with_cancellation(events, request, uid))
    whole = whole_response([form], [await state.collect(uid, request)])
    return Response(to_json(whole), media_type="application/json")
