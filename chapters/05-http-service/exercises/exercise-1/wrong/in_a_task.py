"""The call is made by a task: the thread is kept a turn later.

Fails: one-request: heart
"""

from __future__ import annotations

import asyncio

from fastapi import Request
from pydantic import BaseModel


class GenerateRequest(BaseModel):
    prompt: str


async def generate(req: GenerateRequest, request: Request) -> dict[str, str]:
    async def compute() -> str:
        return request.app.state.model.generate(req.prompt)

    return {"text": await asyncio.create_task(compute())}
