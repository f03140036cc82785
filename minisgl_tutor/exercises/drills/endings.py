"""Chapter 2, exercise 4: why an answer ends, and what its client sees of that (C2.70 to C2.73, C5.96)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

from ..drill import NEVER_ENDS, Found
from .back import MAX_LEN, Ask, Plan, Seen, name_of
from .books import BooksDrill
from .stage import FAILS, LAST_US, ClientSeen, MessageSeen, StageSeen

UNFINISHED, MESSAGES, AFTER_THE_END, REASON, END_MARK = (
    "unfinished",
    "messages",
    "after-the-end",
    "reason",
    "end-mark",
)
DONE = b"data: [DONE]\n\n"


class EndingsDrill(BooksDrill):
    """Answers of the whole server that end by their length, by an end-of-sequence token, or by either."""

    methods = ("_finish_reason",)
    checks = (
        "limit",
        "limit-one",
        "eos",
        "ignore-eos",
        "eos-at-limit",
        "long-prompt",
        "two-in-a-batch",
        "at-random",
    )
    faults = (FAILS, MESSAGES, UNFINISHED, AFTER_THE_END, NEVER_ENDS, REASON, END_MARK, *BooksDrill.faults)

    def fixed(self) -> Iterator[Plan]:
        for overlap in (True, False):

            def plan(check: str, *asks: Ask, overlap: bool = overlap) -> Plan:
                return Plan(check, (asks,), overlap, num_pages=64, on_stage=True)

            yield plan("limit", Ask(0, 6, 3))
            yield plan("limit", Ask(0, 55, 40))
            yield plan("limit-one", Ask(0, 6, 1))
            yield plan("eos", Ask(0, 6, 8, ends_at=2))
            yield plan("eos", Ask(0, 6, 8, ends_at=1))
            yield plan("eos", Ask(0, 6, 8, ends_at=3, quotes_eos=True))
            yield plan("ignore-eos", Ask(0, 6, 5, ends_at=2, ignore_eos=True))
            yield plan("eos-at-limit", Ask(0, 6, 3, ends_at=3))
            yield plan("eos-at-limit", Ask(0, 6, 3, ends_at=3, ignore_eos=True))
            yield plan("long-prompt", Ask(0, 40, 4))
            yield plan("two-in-a-batch", Ask(0, 6, 6, ends_at=2), Ask(1, 6, 4))
            yield plan("two-in-a-batch", Ask(0, 6, 2), Ask(1, 6, 5, ends_at=2, ignore_eos=True), Ask(2, 5, 5))

    def cases(self, rng: random.Random) -> Sequence[Plan]:
        return [*self.fixed(), *(self.random_plan(rng) for _ in range(8))]

    def random_plan(self, rng: random.Random) -> Plan:
        asks = []
        for uid in range(rng.randint(1, 4)):
            most = rng.randint(1, 6)
            end = rng.choice((0, rng.randint(1, most)))
            asks.append(Ask(uid, rng.randint(1, 30), most, end, rng.random() < 0.3))
        return Plan("at-random", (tuple(asks),), rng.random() < 0.6, num_pages=64, on_stage=True)

    def judge(self, case: Plan, seen: Seen) -> Iterator[Found]:
        if seen.stage is None:
            return
        for client, ask in enumerate(case.asks):
            for fault, t_us, values in _of_one(ask, client, seen.stage):
                yield Found(fault, {"request": name_of(ask.uid), **values}, client, t_us)
        yield from super().judge(case, seen)


def _of_one(ask: Ask, client: int, seen: StageSeen) -> Iterator[tuple[str, int, dict[str, Any]]]:
    sent = [each for each in seen.messages if each.client == client and each.kind == "DetokenizeMsg"]
    ended = ask.ends_at and not ask.ignore_eos
    due = ask.ends_at if ended else min(ask.max_tokens, MAX_LEN - ask.length)
    last_us = sent[-1].t_us - 1 if sent else LAST_US
    finished = [number for number, each in enumerate(sent, 1) if each.finished]
    values = {"due": due, "got": len(sent), "finished": finished}
    if not finished:
        yield UNFINISHED, last_us, values
    elif sent[-1].finished and len(finished) == 1:
        if len(sent) != due:
            yield MESSAGES, last_us, values
        reasons = _reasons(ask)
        if sent[-1].reason not in reasons:
            yield REASON, last_us, {"due": reasons[0], "got": sent[-1].reason}
    else:
        yield AFTER_THE_END, last_us, values
    yield from _shown(seen.clients[client], sent)


def _reasons(ask: Ask) -> tuple[str, ...]:
    if ask.ignore_eos or not ask.ends_at:
        return ("length",)
    return ("stop", "length") if ask.ends_at == ask.max_tokens else ("stop",)


def _shown(client: ClientSeen, sent: list[MessageSeen]) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """The end mark comes once, at the end, and not without a finished message."""
    if not any(each.finished for each in sent) and DONE not in client.body:
        return  # there is no end to be told
    count = client.body.count(DONE)
    if count != 1 or not client.body.endswith(DONE) or not any(each.finished for each in sent):
        yield END_MARK, client.end_us, {"count": count}
