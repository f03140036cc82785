"""Processes in virtual time: each computes for itself, and what they tell each other crosses as bytes."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from ...language import Sentence
from ...trace.clock import VirtualTimeLoop

API, TOKENIZER, SCHEDULER, DETOKENIZER = NAMES = "api", "tokenizer", "scheduler", "detokenizer"
ENCODE, STEP, DECODE = "encode", "step", "decode"

ENCODE_US, DECODE_US = 3_000, 1_000


def encode(text: str) -> list[int]:
    """A token for each byte."""
    return [byte + 1 for byte in text.encode()]


def decode(ids: list[int]) -> str:
    return bytes(token - 1 for token in ids).decode(errors="replace")


class Computer:
    """The processes of a service. ``answers``: what the model answers to each prompt.

    ``used`` says who did what, in order; ``made`` when each token of a request was there; ``sent`` what
    went to whom.
    """

    def __init__(self, answers: Mapping[str, str], step_us: int, uids: range) -> None:
        self.used: list[tuple[str, str]] = []
        self.made: dict[int, list[int]] = {uid: [] for uid in uids}
        self.sent: list[tuple[str, Any]] = []
        self.step_us = step_us
        self.processes = {name: Process(name, self) for name in NAMES}
        self._answers = {tuple(encode(prompt)): encode(answer) for prompt, answer in answers.items()}

    def next_token(self, ids: list[int]) -> int:
        for prompt, answer in self._answers.items():
            if tuple(ids[: len(prompt)]) == prompt:
                done = ids[len(prompt) :]
                if done != answer[: len(done)] or len(done) >= len(answer):
                    text = repr(decode(ids))[:80]
                    raise ValueError(Sentence("the model has nothing to add to {text}", text=text))
                return answer[len(done)]
        raise ValueError(
            Sentence("these are not the tokens of a prompt: the model takes prompt and answer so far")
        )


class Process:
    """One of them, for the reader's function that runs in it. A call that computes keeps the process busy:
    until it is over, nothing that the process sends has left, and nothing reaches it.
    """

    def __init__(self, name: str, computer: Computer) -> None:
        self.name = name
        self._computer = computer
        self._busy_until_us = 0
        self._inboxes: defaultdict[int | None, asyncio.Queue[Any]] = defaultdict(asyncio.Queue)

    # -- what computes

    def encode(self, text: str) -> list[int]:
        """The tokens of a text."""
        self._compute(ENCODE, ENCODE_US)
        return encode(text)

    def step(self, batch: Mapping[int, list[int]]) -> dict[int, int]:
        """One step of the model: for each uid its next token, from those of its prompt and answer so far."""
        if not batch:
            raise ValueError(Sentence("a step needs a request at least"))
        tokens = {uid: self._computer.next_token(list(ids)) for uid, ids in batch.items()}
        done_us = self._compute(STEP, self._computer.step_us)
        for uid in tokens:
            self._computer.made[uid].append(done_us)
        return tokens

    def decode(self, ids: list[int]) -> str:
        """The text of some tokens; what is no whole character yet becomes U+FFFD."""
        self._compute(DECODE, DECODE_US)
        return decode(list(ids))

    def _compute(self, what: str, us: int) -> int:
        loop = _loop()
        self._computer.used.append((what, self.name))
        if self.name == API:
            loop.block(us)  # its event loop stands still, and everybody whom it serves waits
            return loop.now_us()
        self._busy_until_us = max(self._busy_until_us, loop.now_us()) + us
        return self._busy_until_us

    # -- what goes from one to another

    def send(self, to: str, message: Any) -> None:
        """Puts a message into the inbox of a process: plain values, as they cross as bytes."""
        if to not in NAMES:
            names = ", ".join(NAMES)
            raise ValueError(
                Sentence("there is no process {name!r}; there are {names}", name=to, names=names)
            )
        copy = msgspec.msgpack.decode(msgspec.msgpack.encode(message))
        uid = None
        if to == API:
            uid = copy.get("uid") if isinstance(copy, dict) else None
            if not isinstance(uid, int):
                raise ValueError(Sentence("a message to the api is a dictionary with the uid of its request"))
        self._computer.sent.append((to, copy))
        put: Callable[[Any], None] = self._computer.processes[to]._inboxes[uid].put_nowait
        _loop().call_at(max(self._busy_until_us, _loop().now_us()) / 1e6, put, copy)

    async def receive(self, uid: int | None = None) -> Any:
        """Waits for the next message; in the api, for the next one of this uid."""
        self._check(uid)
        await self._until_idle()
        message = await self._inboxes[uid].get()
        await self._until_idle()
        return message

    async def poll(self) -> Any:
        """The next message that has come by now, or None."""
        self._check(None)
        await self._until_idle()
        await asyncio.sleep(0)  # what is sent at this instant is there
        inbox = self._inboxes[None]
        return None if inbox.empty() else inbox.get_nowait()

    def _check(self, uid: int | None) -> None:
        if (self.name == API) is (uid is None):
            raise ValueError(Sentence("the api receives with a uid, and every other process without"))

    async def _until_idle(self) -> None:
        while (left_us := self._busy_until_us - _loop().now_us()) > 0:
            await asyncio.sleep(left_us / 1e6)


def _loop() -> VirtualTimeLoop:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)
    return loop
