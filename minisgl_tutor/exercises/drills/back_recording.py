"""A plan for a scheduler as a recording of a whole server, for ``trace``: each request has a client."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ...message import SamplingParams, TokenizeMsg
from ...recording import (
    VERSION,
    ArriveLine,
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
from .back import MAX_LEN, Ask, Plan, Seen

STEP_US = 100_000
"""An engine step, of virtual time."""

START_US = 1_000
BEFORE_US = 200
NEVER = 1 << 20
"""So long no sequence gets: a step that was not made."""

Event = RequestLine | SubmitLine | DisconnectLine | ArriveLine | StepLine | TokensLine
SHARED, OWN = " the", (" cache", " server", " answer", " token", " page", " slot", " client", " model")
EOS = "<|im_end|>"
"""The bundled model's mark for the end of a turn, one of its end-of-sequence tokens."""

TEXT = "A server keeps apart what belongs to whom, and lets go of it when the answer has been given."


def round_us(number: int) -> int:
    """Shortly before that round of the recorded run."""
    return START_US + number * STEP_US - BEFORE_US


class Recorder:
    """Makes recordings. A prompt has words in the place of tokens, one for one where the model knows them."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenize = TokenizeManager(tokenizer)
        self._eos = sorted(load_eos_token_ids(model_dir(), tokenizer))
        ids = tokenizer.encode(TEXT, add_special_tokens=False)
        self._tokens = [each for each in ids if each not in self._eos]
        self._vocab_size = tokenizer.vocab_size

    def recording(self, plan: Plan, own: Seen) -> Recording:
        """``own`` is what the server's own class does: the recorded steps are those."""
        header = Header(
            version=VERSION,
            model=None,
            served_model="minisgl-tutor",
            page_size=plan.page_size,
            num_pages=plan.num_pages,
            num_slots=plan.num_slots,
            max_seq_len=MAX_LEN,
            vocab_size=self._vocab_size,
            prefill_budget=plan.budget,
            cache="radix",
            overlap=plan.overlap,
            num_tokenizer=1,
            backlog_limit=4096,
            eos_token_ids=self._eos,
            admission="optimistic" if plan.optimistic else "reserve",
        )
        asks = {ask.uid: ask for ask in plan.asks}
        rids = {uid: rid for rid, uid in enumerate(asks)}
        lines: list[Event] = []
        for number, came in enumerate(plan.rounds):
            for each in came:
                if isinstance(each, Ask):
                    lines += self._asks(rids[each.uid], each, number)
                elif each.uid in rids:
                    # In the middle of the step before: the scheduler takes it in when that has run.
                    at_us = max(round_us(number) - STEP_US // 2, round_us(0) + 1)
                    lines.append(DisconnectLine(at_us, rids[each.uid], 1 << 30))
        lines += self._steps(asks, rids, own)
        return Recording(header, sorted(lines, key=lambda line: line.t))

    def _asks(self, rid: int, ask: Ask, number: int) -> Iterator[Event]:
        fields = {"model": "minisgl-tutor", "prompt": _prompt(rid, ask), "max_tokens": ask.max_tokens}
        body = json.dumps({**fields, "stream": True, "ignore_eos": ask.ignore_eos})
        yield RequestLine(round_us(number), rid, "POST", "/v1/completions", body)
        yield SubmitLine(round_us(number), rid, rid, f"exercise{rid}", 0)
        yield ArriveLine(round_us(number) + BEFORE_US, [rid], [])

    def _steps(self, asks: dict[int, Ask], rids: dict[int, int], own: Seen) -> Iterator[Event]:
        """The steps as they were; behind them the tokens that a class would get which goes on longer."""
        longer = {uid: self._length(_prompt(rids[uid], ask)) - ask.length for uid, ask in asks.items()}
        got = dict.fromkeys(asks, 0)
        n = 0
        for step in own.steps:
            at_us = round_us(step.round) + BEFORE_US
            lens = [end + longer[uid] for uid, end in zip(step.uids, step.seq_lens, strict=True)]
            tokens = []
            for uid, end in zip(step.uids, step.seq_lens, strict=True):
                emits = end >= asks[uid].length
                got[uid] += emits
                tokens.append(self._token(asks[uid], got[uid]) if emits else -1)
            uids = [rids[uid] for uid in step.uids]
            yield StepLine(at_us, n, step.phase, uids, lens)  # type: ignore[arg-type]
            yield TokensLine(at_us + STEP_US - BEFORE_US, n, tokens)
            n += 1
        end_us = round_us(len(own.rounds))
        for uid, ask in asks.items():
            for place in range(got[uid] + 1, ask.max_tokens + 1):
                yield StepLine(end_us, n, "decode", [rids[uid]], [NEVER])
                yield TokensLine(end_us + STEP_US, n, [self._token(ask, place)])
                n += 1

    def _token(self, ask: Ask, place: int) -> int:
        return self._eos[-1] if place == ask.ends_at else self._tokens[(place - 1) % len(self._tokens)]

    def _length(self, prompt: str) -> int:
        msg = TokenizeMsg(uid=0, text=prompt, sampling_params=SamplingParams())
        ids = self._tokenize.tokenize([msg])[0]
        assert isinstance(ids, list)
        return len(ids)


def _prompt(rid: int, ask: Ask) -> str:
    begin = EOS if ask.quotes_eos else ""
    return begin + SHARED * ask.shared + OWN[rid % len(OWN)] * (ask.length - ask.shared - ask.quotes_eos)
