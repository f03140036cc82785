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
from starlette.responses import Response

from . import health
from .body import WholeBody
from .choices import collect_all, stream_all, submit_all
from .config import Limits, ServerArgs
from .frontend import FrontendManager, _unwrap_msg
from .openai.answer import ResponseForm, Tally, to_json, whole_response
from .openai.bulk import Examine, take_all
from .openai.conversation import Message
from .openai.error_handlers import add_error_handlers
from .openai.failure import refused
from .openai.request_model import CompletionBody, OpenAICompletionRequest, TextCompletionRequest
from .openai.sse import EventStream

__all__ = ["FrontendManager", "Message", "OpenAICompletionRequest", "_unwrap_msg", "create_app"]

Stamp = Callable[[int], tuple[str, int]]
"""uid -> the unguessable part of the answer's id, and its Unix time."""

router = APIRouter()


def fresh_stamp(uid: int) -> tuple[str, int]:
    return uuid.uuid4().hex, int(time.time())


def admit_all() -> None:
    """Of an app before which nobody waits, as on a stage."""


def create_app(
    state: FrontendManager,
    served_model: str,
    stamp: Stamp = fresh_stamp,
    limits: Limits = ServerArgs.limits,
    examine: Examine = take_all,
) -> FastAPI:
    """The application over ``state``.

    ``stamp`` makes response ids and times; a replay has recorded ones. ``limits`` say
    how large and how slow a body may be; ``examine`` looks at a body before it is read.
    ``app.state.workers`` tells how the workers are, and ``app.state.admit`` refuses a
    request that has come in, for whoever watches over them.
    """
    app = FastAPI(title="minisgl-tutor", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.frontend = state
    app.state.served_model = served_model
    app.state.stamp = stamp
    app.state.workers = health.no_workers
    app.state.admit = admit_all
    app.include_router(router)
    app.include_router(health.router)
    app.add_middleware(WholeBody, state=state, limits=limits, examine=examine)
    add_error_handlers(app)
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
async def v1_text_completions(req: TextCompletionRequest, request: Request) -> Response:
    """A text completion: the prompt goes on."""
    return await _complete(req, request, chat=False)


@router.get("/v1/models")
async def v1_models(request: Request) -> dict[str, Any]:
    """The one model that is served. It answers whatever name a request says (C5.44)."""
    return {"object": "list", "data": [_model(request)]}


@router.get("/v1/models/{name:path}")
async def v1_model(name: str, request: Request) -> dict[str, Any]:
    model = _model(request)
    if name != model["id"]:
        raise refused(f"the model served here is '{model['id']}'", "model", "model_not_found", 404)
    return model


async def _complete(body: CompletionBody, request: Request, chat: bool) -> Response:
    """The answers to a body: each submitted by itself, then in one response, as events or whole."""
    state = get_global_state(request)
    asks = state.asks(body)
    request.app.state.admit()
    uids, stamps = await submit_all(state, asks, request.app.state.stamp)
    (stamp, created), model = stamps[0], request.app.state.served_model
    tally = Tally([ask.prompt_index for ask in asks])
    forms = {
        uid: state.form_for(uid, ResponseForm(stamp, created, model, chat, body.include_usage, index, tally))
        for index, uid in enumerate(uids)
    }
    if body.stream:
        return EventStream(stream_all(state, forms, request))
    whole = whole_response(list(forms.values()), await collect_all(state, uids, request))
    return Response(to_json(whole), media_type="application/json")


def _model(request: Request) -> dict[str, Any]:
    name = request.app.state.served_model
    return {"id": name, "object": "model", "created": 0, "owned_by": "minisgl-tutor", "root": name}
