"""How a request fails on the wire: OpenAI's error envelope, from which its clients raise their exceptions."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ...message import ErrorReply

NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class RequestFailed(Exception):
    """A request ended with an error reply instead of an answer. ``headers`` are those of the reply."""

    def __init__(self, reply: ErrorReply, headers: Mapping[str, str] = NO_HEADERS) -> None:
        super().__init__(reply.message)
        self.reply = reply
        self.headers = headers


def refused(
    message: str, param: str | None, code: str, status: int = 400, headers: Mapping[str, str] = NO_HEADERS
) -> RequestFailed:
    """A request that is not even submitted. ``param`` is the field at fault."""
    return RequestFailed(ErrorReply(uid=-1, message=message, status=status, code=code, param=param), headers)


def error_body(reply: ErrorReply) -> dict[str, Any]:
    """The envelope. ``type`` says whose fault it is, as far as the status tells."""
    if reply.status == 429:
        kind = "rate_limit_error"
    else:
        kind = "invalid_request_error" if reply.status < 500 else "server_error"
    return {"error": {"message": reply.message, "type": kind, "param": reply.param, "code": reply.code}}
