"""A plain function: the framework gives it a thread.

Fails: one-request: thread
"""

from __future__ import annotations

from fastapi import Request
from pydantic import BaseModel


class GenerateRequest(BaseModel):
    prompt: str


def generate(req: GenerateRequest, request: Request) -> dict[str, str]:
    return {"text": request.app.state.model.generate(req.prompt)}
