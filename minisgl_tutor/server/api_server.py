"""The HTTP surface: OpenAI-style routes over the front end's state (claims part C).

A handler turns a body into a ``TokenizeMsg`` and then only waits for replies;
the model is never run here. Every handler is ``async``: a plain one would run
in a thread, which virtual time does not know.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from ..message import ErrorReply
from . import health
from .body import WholeBody
from .config import Limits, ServerArgs
from .frontend import FrontendManager, _unwrap_msg
from .protocol import Message, OpenAICompletionRequest, RequestFailed, ResponseForm, error_body, to_json
from .sse import ClientDisconnected, EventStream, error_response

__all__ = ["FrontendManager", "Message", "OpenAICompletionRequest", "_unwrap_msg", "create_app"]

Stamp = Callable[[int], tuple[str, int]]
"""uid -> the unguessable part of the answer's id, and its Unix time."""

MISSING = "missing_required_parameter"

router = APIRouter()


def fresh_stamp(uid: int) -> tuple[str, int]:
    return uuid.uuid4().hex, int(time.time())


def create_app(
    state: FrontendManager,
    served_model: str,
    stamp: Stamp = fresh_stamp,
    limits: Limits = ServerArgs.limits,
    workers: health.Workers = health.no_workers,
) -> FastAPI:
    """The application over ``state``.

    ``stamp`` makes response ids and times; a replay has recorded ones. ``limits`` say
    how large and how slow a body may be; ``workers`` tells how they are.
    """
    app = FastAPI(title="minisgl-tutor", docs_url=None, redoc_url=None)
    app.state.frontend = state
    app.state.served_model = served_model
    app.state.stamp = stamp
    app.state.workers = workers
    app.include_router(router)
    app.include_router(health.router)
    app.add_middleware(WholeBody, state=state, limits=limits)
    app.add_exception_handler(RequestFailed, _on_request_failed)
    app.add_exception_handler(RequestValidationError, _on_invalid_body)
    app.add_exception_handler(HTTPException, _on_http_error)
    app.add_exception_handler(ClientDisconnected, _on_disconnected)
    return app


def get_global_state(request: Request) -> FrontendManager:
    """The one front end of this server (C5.33)."""
    state: FrontendManager = request.app.state.frontend
    return state


@router.post("/v1/chat/completions", response_model=None)
async def v1_completions(req: OpenAICompletionRequest, request: Request) -> Response:
    """A chat completion; ``prompt`` in the place of ``messages`` is taken as it is, without a template."""
    return await _complete(req, request, chat=True)


@router.post("/v1/completions", response_model=None)
async def v1_text_completions(req: OpenAICompletionRequest, request: Request) -> Response:
    if req.prompt is None:
        raise _refused("'prompt' is missing: give the text to continue", "prompt", MISSING)
    return await _complete(req.model_copy(update={"messages": None}), request, chat=False)


@router.get("/v1/models")
async def v1_models(request: Request) -> dict[str, Any]:
    name = request.app.state.served_model
    entry = {"id": name, "object": "model", "created": 0, "owned_by": "minisgl-tutor", "root": name}
    return {"object": "list", "data": [entry]}


async def _complete(req: OpenAICompletionRequest, request: Request, chat: bool) -> Response:
    state = get_global_state(request)
    for name in req.unsupported():
        raise _refused(f"'{name}' is not supported here; leave it out", name, "unsupported_parameter")
    text = req.text()
    if text is None:
        raise _refused("either 'messages' or 'prompt' must be given", "messages", MISSING)
    uid = await state.submit(text, req.sampling_params())
    stamp, created = request.app.state.stamp(uid)
    include_usage = req.stream_options is not None and req.stream_options.include_usage
    form = ResponseForm(stamp, created, request.app.state.served_model, chat, include_usage)
    if req.stream:
        return EventStream(
            state.stream_with_cancellation(state.stream_chat_completions(uid, form), request, uid)
        )
    return _json(form.whole(await state.collect(uid, request)), 200)


def _json(body: dict[str, Any], status: int) -> Response:
    return Response(to_json(body), status_code=status, media_type="application/json")


def _refused(message: str, param: str, code: str) -> RequestFailed:
    return RequestFailed(ErrorReply(uid=-1, message=message, status=400, code=code, param=param))


async def _on_request_failed(request: Request, failure: Exception) -> Response:
    assert isinstance(failure, RequestFailed)
    return error_response(failure)


async def _on_invalid_body(request: Request, failure: Exception) -> Response:
    # The input is not echoed: it may be huge, or hold what JSON cannot carry.
    assert isinstance(failure, RequestValidationError)
    first = failure.errors()[0]
    place = ".".join(str(part) for part in first["loc"] if part != "body")
    problem = first["msg"].removeprefix("Value error, ")
    message = f"'{place}': {problem}" if place else problem
    reply = ErrorReply(uid=-1, message=message, status=422, code=first["type"], param=place or None)
    return _json(error_body(reply), reply.status)


async def _on_http_error(request: Request, failure: Exception) -> Response:
    assert isinstance(failure, HTTPException)
    message = f"{failure.detail}: {request.method} {request.url.path}"
    if failure.__cause__ is not None:  # of a body that no JSON reader takes
        message = f"{failure.detail}: {failure.__cause__}"
    reply = ErrorReply(uid=-1, message=message, status=failure.status_code, code="http_error")
    return Response(
        to_json(error_body(reply)),
        status_code=failure.status_code,
        headers=failure.headers,
        media_type="application/json",
    )


async def _on_disconnected(request: Request, failure: Exception) -> Response:
    return Response(status_code=499)  # nobody reads it; the number is nginx's for a client that left
