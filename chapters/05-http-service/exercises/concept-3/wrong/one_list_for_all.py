"""The tokens that wait for a whole character are kept in one list, whosever they are.

Fails: characters: half
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
        process.send("scheduler", {"uid": asked["uid"], "ids": ids, "max_tokens": asked["max_tokens"]})


async def scheduler(process: Any) -> None:
    running: dict[int, list[int]] = {}
    left: dict[int, int] = {}
    while True:
        message = await (process.poll() if running else process.receive())
        while message is not None:
            running[message["uid"]] = message["ids"]
            left[message["uid"]] = message["max_tokens"]
            message = await process.poll()
        for uid, token in process.step(running).items():
            running[uid].append(token)
            left[uid] -= 1
            process.send("detokenizer", {"uid": uid, "token": token, "finished": not left[uid]})
            if not left[uid]:
                del running[uid], left[uid]


async def detokenizer(process: Any) -> None:
    waiting: list[int] = []
    while True:
        message = await process.receive()
        waiting.append(message["token"])
        text = process.decode(waiting)
        if text.endswith("\ufffd"):
            text = ""
        else:
            waiting.clear()
        process.send("api", {"uid": message["uid"], "text": text, "finished": message["finished"]})
