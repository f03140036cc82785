"""How a request fails on the wire: OpenAI's error envelope, from which its clients raise their exceptions."""

from __future__ import annotations

from typing import Any

from ...message import ErrorReply


class RequestFailed(Exception):
    """A request ended with an error reply instead of an answer."""

    def __init__(self, reply: ErrorReply) -> None:
        super().__init__(reply.message)
        self.reply = reply


def refused(message: str, param: str | None, code: str, status: int = 400) -> RequestFailed:
    """A request that is not even submitted. ``param`` is the field at fault."""
    return RequestFailed(ErrorReply(uid=-1, message=message, status=status, code=code, param=param))


def error_body(reply: ErrorReply) -> dict[str, Any]:
    """The envelope. ``type`` says whose fault it is, as far as the status tells."""
    if reply.status == 429:
        kind = "rate_limit_error"
    else:
        kind = "invalid_request_error" if reply.status < 500 else "server_error"
    return {"error": {"message": reply.message, "type": kind, "param": reply.param, "code": reply.code}}
