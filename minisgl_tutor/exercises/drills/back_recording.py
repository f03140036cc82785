"""A plan for a scheduler as a recording of a whole server, for ``trace``: each request has a client."""

from __future__ import annotations

import json

from ...message import SamplingParams, TokenizeMsg
from ...recording import (
    VERSION,
    DisconnectLine,
    Header,
    Recording,
    RequestLine,
    StepLine,
    SubmitLine,
    TokensLine,
)
from ...resources import model_dir
from ...tokenizer.load import load_eos_token_ids
from ...tokenizer.tokenize import TokenizeManager
from ...tokenizer.tokenizer import Tokenizer
from .back import Abort, Ask, Plan

STEP_US = 100_000
"""An engine step, of virtual time."""

START_US = 1_000
SHARED, OWN = " the", (" cache", " server", " answer", " token", " page", " slot", " client", " model")
TEXT = "A server keeps apart what belongs to whom, and lets go of it when the answer has been given."


def round_us(plan: Plan, number: int) -> int:
    """About when a round begins that has steps before it. With overlap the second is launched at once."""
    return START_US + max(0, number - int(plan.overlap)) * STEP_US


class Recorder:
    """Makes recordings. A prompt has words in the place of tokens, one for one where the model knows them."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenize = TokenizeManager(tokenizer)
        self._eos = sorted(load_eos_token_ids(model_dir(), tokenizer))
        ids = tokenizer.encode(TEXT, add_special_tokens=False)
        self._tokens = [each for each in ids if each not in self._eos]
        self._vocab_size = tokenizer.vocab_size

    def recording(self, plan: Plan) -> Recording:
        header = Header(
            version=VERSION,
            model=None,
            served_model="minisgl-tutor",
            page_size=plan.page_size,
            num_pages=plan.num_pages,
            num_slots=plan.num_slots,
            max_seq_len=64,
            vocab_size=self._vocab_size,
            prefill_budget=plan.budget,
            cache="radix",
            overlap=plan.overlap,
            num_tokenizer=1,
            backlog_limit=4096,
            eos_token_ids=self._eos,
            admission="optimistic" if plan.optimistic else "reserve",
        )
        lines: list[RequestLine | SubmitLine | DisconnectLine | StepLine | TokensLine] = []
        rids: dict[int, int] = {}
        for number, came in enumerate(plan.rounds):
            # In the middle of the step before, so that the scheduler takes it in before that round.
            at_us = max(START_US, round_us(plan, number) - STEP_US // 2)
            for each in came:
                if isinstance(each, Ask):
                    rids[each.uid] = len(rids)
                    lines += self._asks(rids[each.uid], each, at_us, len(lines))
                elif isinstance(each, Abort) and each.uid in rids:
                    lines.append(DisconnectLine(at_us + 1, rids[each.uid], 1 << 30))
        return Recording(header, sorted(lines, key=lambda line: line.t))

    def _asks(
        self, rid: int, ask: Ask, at_us: int, n: int
    ) -> list[RequestLine | SubmitLine | DisconnectLine | StepLine | TokensLine]:
        prompt = SHARED * ask.shared + OWN[rid % len(OWN)] * (ask.length - ask.shared)
        fields = {"model": "minisgl-tutor", "prompt": prompt, "max_tokens": ask.max_tokens, "stream": True}
        body = json.dumps({**fields, "ignore_eos": ask.ignore_eos})
        lines: list[RequestLine | SubmitLine | DisconnectLine | StepLine | TokensLine] = [
            RequestLine(at_us, rid, "POST", "/v1/completions", body),
            SubmitLine(at_us, rid, rid, f"exercise{rid}", 0),
        ]
        length = self._length(prompt)
        for place in range(ask.max_tokens):
            start_us = at_us + place * STEP_US
            phase = "decode" if place else "prefill"
            token = self._tokens[place % len(self._tokens)]
            if place + 1 == ask.ends_at:
                token = self._eos[-1]
            lines.append(StepLine(start_us, n + place, phase, [rid], [length + place]))  # type: ignore[arg-type]
            lines.append(TokensLine(start_us + STEP_US, n + place, [token]))
        return lines

    def _length(self, prompt: str) -> int:
        msg = TokenizeMsg(uid=0, text=prompt, sampling_params=SamplingParams())
        ids = self._tokenize.tokenize([msg])[0]
        assert isinstance(ids, list)
        return len(ids)
