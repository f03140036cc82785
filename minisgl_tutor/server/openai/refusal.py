"""An answer to a request that the app never sees."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response

from .failure import NO_HEADERS, refused
from .sse import error_response


def refusal(status: int, message: str, code: str, headers: Mapping[str, str] = NO_HEADERS) -> Response:
    """The error envelope with this status, and ``headers`` besides."""
    return error_response(refused(message, None, code, status, headers))
