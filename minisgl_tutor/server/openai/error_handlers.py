"""What a client is told when its request cannot be answered: always in the envelope, never a traceback."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from .failure import RequestFailed, refused
from .sse import ClientDisconnected, error_response

CODES = {404: "not_found", 405: "method_not_allowed"}


def add_error_handlers(app: FastAPI) -> None:
    app.add_exception_handler(RequestFailed, _on_request_failed)
    app.add_exception_handler(RequestValidationError, _on_invalid_body)
    app.add_exception_handler(HTTPException, _on_http_error)
    app.add_exception_handler(ClientDisconnected, _on_disconnected)
    app.add_exception_handler(Exception, _on_failure)


async def _on_request_failed(request: Request, failure: Exception) -> Response:
    assert isinstance(failure, RequestFailed)
    return error_response(failure)


async def _on_invalid_body(request: Request, failure: Exception) -> Response:
    """A 400, as OpenAI has it. The input is not echoed: it may be huge, or hold what JSON cannot carry."""
    assert isinstance(failure, RequestValidationError)
    first = failure.errors()[0]
    if first["type"] == "json_invalid":
        return error_response(refused(f"the body is no JSON: {first['ctx']['error']}", None, "invalid_json"))
    if first["type"] == "model_attributes_type" and len(first["loc"]) == 1:
        message = "the body is no JSON object, or its Content-Type is not application/json"
        return error_response(refused(message, None, "invalid_json"))
    place = ".".join(ascii(str(part)[:60])[1:-1] for part in first["loc"] if part != "body")
    problem = first["msg"].removeprefix("Value error, ")
    message = f"'{place}': {problem}" if place else problem
    code = "missing_required_parameter" if first["type"] == "missing" else "invalid_value"
    return error_response(refused(message, place or None, code))


async def _on_http_error(request: Request, failure: Exception) -> Response:
    assert isinstance(failure, HTTPException)
    message = f"{failure.detail}: {request.method} {request.url.path}"
    code = CODES.get(failure.status_code, "http_error")
    if failure.__cause__ is not None:  # of a body that no JSON reader takes
        message, code = f"{failure.detail}: {failure.__cause__}", "invalid_json"
    return error_response(refused(message, None, code, failure.status_code, failure.headers or {}))


async def _on_disconnected(request: Request, failure: Exception) -> Response:
    return Response(status_code=499)  # nobody reads it; the number is nginx's for a client that left


async def _on_failure(request: Request, failure: Exception) -> Response:
    """A fault of the server's own. The server that runs the app logs its traceback."""
    message = "the server failed at this request, through no fault of yours; its log says why"
    return error_response(refused(message, None, "internal_error", 500))
