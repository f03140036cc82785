"""The call is put into a function that is `async` and awaited; it awaits nothing itself.

Fails: one-request: heart
"""

from __future__ import annotations

from fastapi import Request
from pydantic import BaseModel


class GenerateRequest(BaseModel):
    prompt: str


async def generate(req: GenerateRequest, request: Request) -> dict[str, str]:
    return {"text": await compute(request.app.state.model, req.prompt)}


async def compute(model, prompt: str) -> str:
    return model.generate(prompt)
