"""练习 1：一个客户端等回答的时候，其他客户端照样得到服务。

`POST /generate` 的这个处理函数明明是 `async` 的，可是它一运行，别的请求就都得不到服务。
题目要求见旁边的 exercise-1.zh.md。
"""

from __future__ import annotations

from fastapi import Request
from pydantic import BaseModel


class GenerateRequest(BaseModel):
    prompt: str


async def generate(req: GenerateRequest, request: Request) -> dict[str, str]:
    model = request.app.state.model
    return {"text": model.generate(req.prompt)}
