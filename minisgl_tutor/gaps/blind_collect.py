"""Without streaming nobody looks for a client that has left (C5.159)."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import Request

from ..server.frontend import FrontendManager

T = TypeVar("T")


class BlindCollect(FrontendManager):
    async def unless_disconnected(self, request: Request, work: Coroutine[Any, Any, T]) -> T:
        return await work
