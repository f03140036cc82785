"""A scene: clients of the whole server, each with the tokens of its answer, as a recording of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import msgspec

from ...language import Sentence
from ...message import SamplingParams, TokenizeMsg
from ...recording import (
    VERSION,
    DisconnectLine,
    Header,
    PaceLine,
    Recording,
    RequestLine,
    StepLine,
    SubmitLine,
    TokensLine,
)
from ...resources import model_dir
from ...tokenizer.load import load_eos_token_ids, load_tokenizer
from ...tokenizer.tokenize import TokenizeManager
from ...tokenizer.tokenizer import Tokenizer
from ..drill import Reader
from .stage import StageSeen, on_stage

STEP_US = 100_000
"""An engine step, of virtual time."""

START_US = 1_000
TEXT = "A server keeps apart what belongs to whom, and lets go of it when the answer has been given."
STAYS = 1 << 30

Line = RequestLine | SubmitLine | PaceLine | DisconnectLine | StepLine | TokensLine


class Client(msgspec.Struct, frozen=True):
    """It asks at step ``start``. ``answer``: the tokens that the engine has for it, all of which come unless
    ``max_tokens`` or a stop string ends them before. It leaves ``leaves_ms`` after it asked, if it does, and
    takes ``chunk_ms`` to read a chunk, while nothing else fits on the way.
    """

    answer: tuple[int, ...]
    prompt: str = "Question?"
    max_tokens: int = 0
    stream: bool = True
    stop: tuple[str, ...] = ()
    start: int = 0
    leaves_ms: int | None = None
    chunk_ms: int = 0

    @property
    def start_us(self) -> int:
        return START_US + self.start * STEP_US

    @property
    def body(self) -> str:
        fields = {"model": "minisgl-tutor", "messages": self.messages, "stream": self.stream}
        fields |= {"max_tokens": self.max_tokens or len(self.answer)}
        return json.dumps(fields | ({"stop": list(self.stop)} if self.stop else {}), ensure_ascii=False)

    @property
    def messages(self) -> list[dict[str, str]]:
        return [{"role": "user", "content": self.prompt}]


class Scene(msgspec.Struct, frozen=True):
    """The clients, in the order in which they ask, and what of the server matters to them."""

    clients: tuple[Client, ...]
    num_tokenizer: int = 1
    overlap: bool = True
    backlog_limit: int = 4096
    max_seq_len: int = 256
    prefill_budget: int = 2048


class SceneMaker:
    """Makes recordings, with the tokenizer of the model that comes with the package."""

    @cached_property
    def tokenizer(self) -> Tokenizer:
        return load_tokenizer(model_dir())

    @cached_property
    def tokens(self) -> list[int]:
        """Those of a text, for an answer of which only the length matters."""
        return [
            each
            for each in self.tokenizer.encode(TEXT, add_special_tokens=False)
            if each not in self._eos_token_ids
        ]

    def prompt(self, length: int) -> str:
        """One whose conversation has this many tokens."""
        few = Client((), " the" * 8)
        prompt = " the" * (8 + length - self.prompt_len(few))
        assert self.prompt_len(Client((), prompt)) == length
        return prompt

    def answer(self, length: int) -> tuple[int, ...]:
        return tuple(self.tokens[place % len(self.tokens)] for place in range(length))

    def recording(self, scene: Scene) -> Recording:
        header = Header(
            version=VERSION,
            model=None,
            served_model="minisgl-tutor",
            page_size=16,
            num_pages=256,
            num_slots=8,
            max_seq_len=scene.max_seq_len,
            vocab_size=self.tokenizer.vocab_size,
            prefill_budget=scene.prefill_budget,
            cache="radix",
            overlap=scene.overlap,
            num_tokenizer=scene.num_tokenizer,
            backlog_limit=scene.backlog_limit,
            eos_token_ids=list(self._eos_token_ids),
        )
        lines: list[Line] = []
        steps = 0
        for rid, client in enumerate(scene.clients):
            lines += _asks(rid, client)
            lines += self._answers(rid, client, steps)
            steps += len(client.answer)
        return Recording(header, sorted(lines, key=lambda line: line.t))

    def prompt_len(self, client: Client) -> int:
        """In tokens, those of the chat template among them."""
        msg = TokenizeMsg(uid=0, text=client.messages, sampling_params=SamplingParams())
        ids = TokenizeManager(self.tokenizer).tokenize([msg])[0]
        assert isinstance(ids, list)
        return len(ids)

    def undisturbed(self, scene: Scene) -> StageSeen:
        """What the server's own classes do when every client stays, and reads at once."""
        stay = [msgspec.structs.replace(client, leaves_ms=None, chunk_ms=0) for client in scene.clients]
        return self.own(msgspec.structs.replace(scene, clients=tuple(stay), num_tokenizer=1))

    def own(self, scene: Scene) -> StageSeen:
        """What the server's own classes do."""
        if scene not in self._played:
            self._played[scene] = on_stage(self.recording(scene), self.tokenizer, Reader(None))
        return self._played[scene]

    @cached_property
    def _played(self) -> dict[Scene, StageSeen]:
        return {}

    @cached_property
    def _eos_token_ids(self) -> Sequence[int]:
        return sorted(load_eos_token_ids(model_dir(), self.tokenizer))

    def _answers(self, rid: int, client: Client, steps: int) -> list[Line]:
        """In steps of its own: how requests are batched is decided at the play."""
        length = self.prompt_len(client)
        lines: list[Line] = []
        for place, token in enumerate(client.answer):
            at_us = client.start_us + place * STEP_US
            phase = "decode" if place else "prefill"
            lines.append(StepLine(at_us, steps + place, phase, [rid], [length + place]))  # type: ignore[arg-type]
            lines.append(TokensLine(at_us + STEP_US, steps + place, [token]))
        return lines


def _asks(rid: int, client: Client) -> list[Line]:
    lines: list[Line] = [
        RequestLine(client.start_us, rid, "POST", "/v1/chat/completions", client.body),
        SubmitLine(client.start_us, rid, rid, f"exercise{rid}", 0),
    ]
    if client.chunk_ms:
        lines.append(PaceLine(client.start_us, rid, client.chunk_ms * 1000, 1))
    if client.leaves_ms is not None:
        lines.append(DisconnectLine(client.start_us + client.leaves_ms * 1000, rid, STAYS))
    return lines


MALFORMED = Sentence("malformed")


class Told(msgspec.Struct, frozen=True):
    """What a body says, however it is cut: its text, its finish reasons, what it says of an error, and
    whether it came to its own end.
    """

    text: str = ""
    reasons: tuple[str, ...] = ()
    error: str = ""
    ended: bool = False

    def in_short(self, status: int | None) -> Sentence:
        """For a report."""
        shown = repr(self.text) if len(self.text) <= 60 else f"{self.text[:28]!r}...{self.text[-28:]!r}"
        parts = ", ".join([shown, *self.reasons])
        if not self.error:
            return Sentence("status {status}, {parts}", status=status, parts=parts)
        error = MALFORMED if self.error == str(MALFORMED) else self.error
        return Sentence("status {status}, {parts}, {error}", status=status, parts=parts, error=error)


def told(body: bytes) -> Told:
    """An answer of this server, streamed or not; one that is none has the error ``MALFORMED``."""
    try:
        if body.startswith(b"data: "):
            events = [event.removeprefix("data: ") for event in body.decode().split("\n\n")]
            bodies = [json.loads(event) for event in events if event not in ("", "[DONE]")]
            return _told(bodies, "delta", ended="[DONE]" in events)
        return _told([json.loads(body)] if body else [], "message", ended=bool(body))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        return Told(error=str(MALFORMED))


def _told(bodies: list[dict[str, Any]], name: str, ended: bool) -> Told:
    errors = [str(each["error"]["message"]) for each in bodies if "error" in each]
    choices = [choice for each in bodies for choice in each.get("choices", ())]
    text = "".join(choice[name].get("content") or "" for choice in choices)
    reasons = tuple(choice["finish_reason"] for choice in choices if choice["finish_reason"] is not None)
    return Told(text, reasons, "; ".join(errors), ended)
