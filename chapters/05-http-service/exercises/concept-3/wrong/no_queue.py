"""The tokenizer calls the model itself: there is no scheduler, and no queue in front of it.

Fails: stages: place
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any


async def api(process: Any, uid: int, text: str, max_tokens: int) -> AsyncIterator[str]:
    process.send("tokenizer", {"uid": uid, "text": text, "max_tokens": max_tokens})
    finished = False
    while not finished:
        message = await process.receive(uid)
        finished = message["finished"]
        if message["text"]:
            yield message["text"]


async def tokenizer(process: Any) -> None:
    while True:
        asked = await process.receive()
        ids = process.encode(asked["text"])
        for left in reversed(range(asked["max_tokens"])):
            token = process.step({asked["uid"]: ids})[asked["uid"]]
            ids.append(token)
            process.send("detokenizer", {"uid": asked["uid"], "token": token, "finished": not left})


async def scheduler(process: Any) -> None:
    while True:
        await process.receive()


async def detokenizer(process: Any) -> None:
    ids: dict[int, list[int]] = {}
    while True:
        message = await process.receive()
        waiting = ids.setdefault(message["uid"], [])
        waiting.append(message["token"])
        text = process.decode(waiting)
        if text.endswith("\ufffd"):
            text = ""
        else:
            waiting.clear()
        process.send("api", {"uid": message["uid"], "text": text, "finished": message["finished"]})
        if message["finished"]:
            del ids[message["uid"]]
