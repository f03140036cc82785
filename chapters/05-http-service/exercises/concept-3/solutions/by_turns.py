"""One request a step, by turns; the detokenizer decodes the answer anew each time."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import AsyncIterator
from typing import Any


async def api(process: Any, uid: int, text: str, max_tokens: int) -> AsyncIterator[str]:
    process.send("tokenizer", [uid, text, max_tokens])
    while (message := await process.receive(uid)).get("piece") is not None:
        yield message["piece"]


async def tokenizer(process: Any) -> None:
    while True:
        uid, text, max_tokens = await process.receive()
        process.send("scheduler", [uid, process.encode(text), max_tokens])


async def scheduler(process: Any) -> None:
    turns: deque[list[Any]] = deque()
    while True:
        while (asked := await (process.poll() if turns else process.receive())) is not None:
            turns.append(asked)
        uid, ids, left = turns.popleft()
        token = process.step({uid: ids})[uid]
        process.send("detokenizer", [uid, token, left == 1])
        if left > 1:
            turns.append([uid, [*ids, token], left - 1])


class Answer:
    def __init__(self) -> None:
        self.ids: list[int] = []
        self.shown = ""


async def detokenizer(process: Any) -> None:
    answers: defaultdict[int, Answer] = defaultdict(Answer)
    while True:
        uid, token, last = await process.receive()
        answer = answers[uid]
        answer.ids.append(token)
        text = process.decode(answer.ids)
        if not text.endswith("\ufffd"):
            process.send("api", {"uid": uid, "piece": text[len(answer.shown) :]})
            answer.shown = text
        if last:
            process.send("api", {"uid": uid})
            del answers[uid]
