"""Exercise 1: while one client waits, the others are served.

This handler of POST /generate is `async`, and still nobody else is served while it runs. What to do is
in exercise-1.md beside this file.
"""

from __future__ import annotations

from fastapi import Request
from pydantic import BaseModel


class GenerateRequest(BaseModel):
    prompt: str


async def generate(req: GenerateRequest, request: Request) -> dict[str, str]:
    model = request.app.state.model
    return {"text": model.generate(req.prompt)}
