"""An answer to a request that the app never sees."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response

from .failure import refused
from .sse import error_response


def refusal(status: int, message: str, code: str, headers: Mapping[str, str] | None = None) -> Response:
    """The error envelope with this status, and ``headers`` besides."""
    answer = error_response(refused(message, None, code, status))
    answer.headers.update(headers or {})
    return answer
