"""The api counts the end itself; the tokenizer keeps nothing, and the scheduler keeps requests as a list."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any


async def api(process: Any, uid: int, text: str, max_tokens: int) -> AsyncIterator[str]:
    process.send("tokenizer", {"uid": uid, "text": text, "limit": max_tokens})
    count = 0
    while count < max_tokens:
        message = await process.receive(uid)
        count = message["count"]
        yield message["text"]


async def tokenizer(process: Any) -> None:
    while True:
        message = await process.receive()
        message["ids"] = process.encode(message.pop("text"))
        process.send("scheduler", message)


async def scheduler(process: Any) -> None:
    requests: list[dict[str, Any]] = []
    while True:
        requests = [each for each in requests if each["limit"]]
        if not requests:
            requests.append(await process.receive())
        while new := await process.poll():
            requests.append(new)
        tokens = process.step({each["uid"]: each["ids"] for each in requests})
        for each in requests:
            each["ids"].append(tokens[each["uid"]])
            each["limit"] -= 1
            process.send("detokenizer", {"uid": each["uid"], "token": tokens[each["uid"]]})


async def detokenizer(process: Any) -> None:
    counts: dict[int, int] = {}
    held: dict[int, list[int]] = {}
    while True:
        message = await process.receive()
        uid = message["uid"]
        counts[uid] = counts.get(uid, 0) + 1
        held.setdefault(uid, []).append(message["token"])
        text = process.decode(held[uid])
        if "\ufffd" not in text:
            process.send("api", {"uid": uid, "text": text, "count": counts[uid]})
            held[uid] = []
