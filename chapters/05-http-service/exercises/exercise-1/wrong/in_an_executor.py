"""The call is made in a thread: the model computes in this process all the same.

Fails: one-request: thread
"""

from __future__ import annotations

import asyncio

from fastapi import Request
from pydantic import BaseModel


class GenerateRequest(BaseModel):
    prompt: str


async def generate(req: GenerateRequest, request: Request) -> dict[str, str]:
    return {"text": await asyncio.to_thread(request.app.state.model.generate, req.prompt)}
