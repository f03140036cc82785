"""The body knows what it asks for, and the server's own rule for an absent limit is the body's, too."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import Response

from minisgl_tutor.server.api_server import get_global_state
from minisgl_tutor.server.openai.answer import ResponseForm, to_json, whole_response
from minisgl_tutor.server.openai.request_model import OpenAICompletionRequest
from minisgl_tutor.server.openai.sse import EventStream


async def v1_completions(req: OpenAICompletionRequest, request: Request) -> Response:
    state = get_global_state(request)
    (ask,) = state.asks(req)
    uid = await state.submit(ask.prompt, ask.sampling_params)
    form = ResponseForm(*request.app.state.stamp(uid), request.app.state.served_model, chat=True)
    answer = stream if req.stream else gather
    return await answer(request, uid, form)


async def stream(request: Request, uid: int, form: ResponseForm) -> Response:
    state = get_global_state(request)
    events = state.stream_chat_completions(uid, form)
    return EventStream(state.stream_with_cancellation(events, request, uid))


async def gather(request: Request, uid: int, form: ResponseForm) -> Response:
    answer = await get_global_state(request).collect(uid, request)
    return Response(to_json(whole_response([form], [answer])), media_type="application/json")
