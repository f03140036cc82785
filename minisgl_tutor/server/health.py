"""``/health``: whether requests are taken, and if not, what is wrong and with which worker."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter, Request
from starlette.responses import Response

from ..message import ErrorReply
from .frontend import FrontendManager
from .openai.answer import to_json
from .openai.failure import error_body

OK = "ok"

Workers = Callable[[], dict[str, str]]
"""Each worker's name, and ``OK`` or what is wrong with it."""

router = APIRouter()


def no_workers() -> dict[str, str]:
    """Of an app whose workers nobody watches, as on a stage."""
    return {}


@router.api_route("/health", methods=["GET", "HEAD"], response_model=None)
async def health(request: Request) -> Response:
    """200 if every request will be served; 503 and the reason if the server stops, or a worker is ill."""
    state: FrontendManager = request.app.state.frontend
    workers: dict[str, str] = request.app.state.workers()
    ill = [f"{name} {condition}" for name, condition in workers.items() if condition != OK]
    failure = state.failure
    if failure is None and ill:
        failure = ErrorReply(uid=-1, message="; ".join(ill), status=503, code="not_healthy")
    told = {"workers": workers} if workers else {}
    if failure is not None:
        return _json({"status": "unavailable", **error_body(failure), **told}, failure.status)
    return _json({"status": "ok", "requests": len(state.held()), **told}, 200)


def _json(body: dict[str, object], status: int) -> Response:
    return Response(to_json(body), status_code=status, media_type="application/json")
