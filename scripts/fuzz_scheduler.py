"""Plays seeded random schedules through the scheduler on the hashing engine, and checks every reply.

    python scripts/fuzz_scheduler.py --schedules 1000 --seed 0

A schedule draws sizes (pages, slots, budget), the loop, the admission, and
requests that share prefixes, go on from earlier answers, are wrong, or are
aborted at any phase. Many schedules are a crowd, whose short prompts and long
answers make a small pool run out.
Checked: every output exactly (of an aborted request: the beginning of it), one
terminal reply each, the books after every round, nothing held at the end.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from minisgl_tutor.engine.base import EngineInfo
from minisgl_tutor.engine.hashing import HashingEngine
from minisgl_tutor.links import MemoryChannel, MemoryPull, MemoryPush
from minisgl_tutor.message import (
    AbortBackendMsg,
    AbortMsg,
    DetokenizeMsg,
    ErrorReply,
    FinishReason,
    SamplingParams,
    Single,
    UserMsg,
)
from minisgl_tutor.scheduler.scheduler import Scheduler
from minisgl_tutor.scheduler.validate import find_problem, length_limit
from minisgl_tutor.server.config import SchedulerConfig

NEVER_SENT = 999_999
MAX_ROUNDS = 3000


class Wrong(AssertionError):
    """The scheduler did what it must not do."""


@dataclass
class Sent:
    """A request that was sent: the right answer to it, and what has come of it."""

    msg: UserMsg
    expected: list[int]
    refused: bool
    reused: bool
    """Its uid had another request before, which may still be draining."""
    got: list[int] = field(default_factory=list)
    retractions: int = 0
    aborted_at: int | None = None
    ended_at: int | None = None

    @property
    def alive(self) -> bool:
        """Nothing that was sent so far ends it."""
        return self.ended_at is None and self.aborted_at is None and not self.refused


class Fuzz:
    """One schedule. ``check_books`` off leaves the judgement to the outputs alone."""

    def __init__(
        self, seed: int, scheduler_class: Callable[..., Scheduler] = Scheduler, check_books: bool = True
    ) -> None:
        self.random = rng = random.Random(seed)
        page_size = rng.choice([1, 1, 4, 16, 16])
        max_seq_len = rng.choice([24, 40, 90])
        self.crowd = rng.random() < 0.4
        pages = -(-max_seq_len // page_size) * self._draw([0.5, 1, 1.3, 2, 4], crowd=[1, 1.3, 2])
        slots = self._draw([1, 2, 3, 5, 8], crowd=[5, 8])
        self.info = EngineInfo(page_size, max(2, int(pages)), slots, max_seq_len, rng.choice([6, 20, 60]))
        config = SchedulerConfig(
            prefill_budget=self._draw([1, 3, 7, 16, 2048], crowd=[1, 3, 7, 2048]),
            cache=self._draw(["radix", "radix", "radix", "naive"], crowd=["radix", "naive"]),
            overlap=rng.random() < 0.7,
            seed=seed,
            admission=self._draw(["optimistic", "reserve"], crowd=["optimistic", "optimistic", "reserve"]),
            head_room=rng.choice([1, 1, 4, 64]),
        )
        self.eos = frozenset(rng.sample(range(self.info.vocab_size), rng.choice([0, 1, 2])))
        self.engine = HashingEngine(self.info, lag=rng.random() < 0.7)
        inbox, outbox = MemoryChannel("to scheduler"), MemoryChannel("from scheduler")
        self.inbox, self.push, self.pull = inbox, MemoryPush(inbox), MemoryPull(outbox)
        self.scheduler = scheduler_class(self.engine, config, self.eos, MemoryPull(inbox), MemoryPush(outbox))
        self.documents = [self._tokens(max_seq_len) for _ in range(rng.choice([1, 2, 4]))]
        self.requests_left = rng.randint(4, 18)
        self.abort_rate = rng.choice([0, 0.1, 0.3])
        self.arrival_rate = self._draw([0.15, 0.5, 0.95], crowd=[0.95])
        self.check_books = check_books
        self.sent: dict[int, Sent] = {}
        self.next_uid = self.round = 0
        self.phases: Counter[str] = Counter()
        """What was met, by name: the phases at which aborts came, and special requests."""

    def play(self) -> Counter[str]:
        """Plays to the end and returns ``phases``.

        Raises:
            Wrong, IntegrityError, EngineError: found a fault.
        """
        while self.requests_left or self.inbox.frames or self.scheduler.busy:
            self.round += 1
            if self.round > MAX_ROUNDS:
                raise Wrong(f"still busy after {MAX_ROUNDS} rounds: {self.scheduler.held()}")
            self._send_messages()
            ran = {uid: len(self.sent[uid].got) for uid in self.scheduler.decode_manager.running}
            self.scheduler.round()
            self._read_replies()
            self._note_retractions(ran)
            if self.check_books:
                self.scheduler.check_integrity()
                self._check_held()
        self._check_end()
        return self.phases

    # Input.

    def _draw(self, values: list[Any], crowd: list[Any]) -> Any:
        return self.random.choice(crowd if self.crowd else values)

    def _tokens(self, count: int) -> list[int]:
        return [self.random.randrange(self.info.vocab_size) for _ in range(count)]

    def _send_messages(self) -> None:
        while self.requests_left and self.random.random() < self.arrival_rate:
            self.requests_left -= 1
            if self.random.random() < 0.05:
                self._abort(self.next_uid, "before arrival")
            uid = self._send_request()
            if self.random.random() < self.abort_rate / 4:
                self._abort(uid, "with arrival")
        if self.random.random() < self.abort_rate:
            # The phase is drawn first, so that the rare ones come up too.
            phases: dict[str, list[int]] = {}
            for uid in [*self.sent, NEVER_SENT]:
                phases.setdefault(self._phase(uid), []).append(uid)
            phase = self.random.choice(list(phases))
            self._abort(self.random.choice(phases[phase]), phase)
        if self.random.random() < 0.03:
            self.push.put(AbortMsg(0))
        alive = [sent for sent in self.sent.values() if sent.alive]
        if alive and self.random.random() < 0.05:
            self.phases["duplicate uid"] += 1
            self.push.put(UserMsg(self.random.choice(alive).msg.uid, self._tokens(3), SamplingParams()))

    def _send_request(self) -> int:
        uid = self.next_uid
        ended = [other for other, sent in self.sent.items() if sent.ended_at is not None]
        if ended and self.random.random() < 0.1:
            self.phases["uid used again"] += 1
            uid = self.random.choice(ended)
        else:
            self.next_uid += 1
        params = SamplingParams(
            ignore_eos=self.random.random() < (0.5 if self.crowd else 0.3),
            max_tokens=self._draw([1, 2, 3, 8, 20, 10**6], crowd=[8, 20, 10**6]),
            temperature=self.random.choice([0.0, 0.7]),
        )
        msg = UserMsg(uid, self._prompt(), params)
        if self.random.random() < 0.1:
            msg = self._spoil(msg)
        refused = find_problem(msg, self.info) is not None
        params = msg.sampling_params
        limit = min(params.max_tokens, length_limit(self.info) - len(msg.input_ids))
        expect = self.engine.expected_tokens
        expected = [] if refused else expect(msg.input_ids, limit, self.eos, params.ignore_eos)
        self.sent[uid] = Sent(msg, expected, refused, reused=uid in self.sent)
        self.push.put(msg)
        return uid

    def _prompt(self) -> list[int]:
        limit = length_limit(self.info)
        earlier = [sent for sent in self.sent.values() if sent.expected]
        if earlier and self.random.random() < 0.4:
            sent = self.random.choice(earlier)
            tokens = sent.msg.input_ids + sent.expected
            cut = self.random.choice([len(tokens), len(tokens) - 1, self.random.randint(1, len(tokens))])
            prompt = tokens[:cut]
        else:
            prompt = self.random.choice(self.documents)[: self.random.randint(0, limit)]
        prompt = prompt + self._tokens(self.random.choice([0, 1, 3]))
        return prompt[: limit // 4 if self.crowd else limit - 1] or [0]

    def _spoil(self, msg: UserMsg) -> UserMsg:
        self.phases["bad request"] += 1
        prompt, params = msg.input_ids, msg.sampling_params
        match self.random.randrange(7):
            case 0:
                prompt = []
            case 1:
                prompt = self._tokens(length_limit(self.info) + self.random.choice([0, 1, 50]))
            case 2:
                prompt = [*prompt[1:], self.random.choice([-1, self.info.vocab_size, 2**63])]
            case 3:
                params = SamplingParams(max_tokens=self.random.choice([0, -1, -(2**60)]))
            case 4:
                params = SamplingParams(temperature=self.random.choice([float("nan"), float("inf"), -1.0]))
            case 5:
                params = SamplingParams(top_p=self.random.choice([float("nan"), 0.0, 1.5]))
            case _:
                # Odd, but within the rules.
                params = SamplingParams(temperature=1e-300, top_k=2**62, seed=-(2**62))
        return UserMsg(msg.uid, prompt, params)

    def _abort(self, uid: int, phase: str) -> None:
        self.phases[f"abort {phase}"] += 1
        sent = self.sent.get(uid)
        if sent is not None and sent.alive:
            sent.aborted_at = self.round
        self.push.put(AbortBackendMsg(uid))
        if self.random.random() < 0.1:
            self.phases["abort twice"] += 1
            self.push.put(AbortBackendMsg(uid))

    def _phase(self, uid: int) -> str:
        """What ``uid`` is doing now, as far as an abort can tell the difference."""
        req = self.scheduler.prefill_manager.waiting.get(uid)
        if req is not None:
            again = req.prefill_len > req.prompt_len
            if req.slot is None:
                return "while retracted" if again else "while waiting"
            phase = "with a chunk in flight" if req.in_flight else "between chunks"
            return f"{phase} after a retraction" if again else phase
        req = self.scheduler.decode_manager.running.get(uid)
        if req is not None:
            if not req.in_flight:
                return "between decode steps"
            if req.length == req.launched_len == req.prefill_len:
                return "with the last prefill in flight"
            return "with a decode in flight" if req.can_launch else "with the last token in flight"
        if uid not in self.sent:
            return "of an unknown uid"
        draining = any(req.uid == uid for req in self.scheduler.draining.values())
        return "after EOS, draining" if draining else "after the end"

    # Output.

    def _note_retractions(self, ran: dict[int, int]) -> None:
        """Who ran before the round, with so many tokens, and waits now was retracted."""
        for uid in ran.keys() & self.scheduler.prefill_manager.waiting.keys():
            if self.scheduler.config.admission == "reserve":
                raise Wrong(f"request {uid} was retracted, though all that it can need was set aside")
            sent = self.sent[uid]
            sent.retractions += 1
            self.phases["retracted" if sent.retractions == 1 else "retracted again"] += 1
            self.phases["retracted with a step in flight"] += len(sent.got) > ran[uid]

    def _read_replies(self) -> None:
        for msg in self.pull.drain(blocking=False):
            sent = self.sent.get(getattr(msg, "uid", NEVER_SENT))
            if sent is None:
                raise Wrong(f"a reply to nobody: {msg}")
            if sent.ended_at is not None:
                raise Wrong(f"a reply after the terminal one of round {sent.ended_at}: {msg}")
            self._check_reply(sent, msg)

    def _check_reply(self, sent: Sent, msg: Single) -> None:
        if isinstance(msg, ErrorReply):
            if not sent.refused or msg.status != 400:
                raise Wrong(f"refused for no reason: {msg}")
            sent.ended_at = self.round
            return
        if not isinstance(msg, DetokenizeMsg) or sent.refused:
            raise Wrong(f"not the reply that was due: {msg}")
        if msg.next_token is not None:
            if sent.aborted_at is not None:
                raise Wrong(f"a token behind an abort: {msg}")
            if sent.expected[len(sent.got) : len(sent.got) + 1] != [msg.next_token]:
                raise Wrong(f"token {len(sent.got)} of {sent.expected} is wrong: {msg}")
            sent.got.append(msg.next_token)
        if msg.finished:
            sent.ended_at = self.round
            self._check_ending(sent, msg)

    def _check_ending(self, sent: Sent, msg: DetokenizeMsg) -> None:
        reason: FinishReason = "length"
        if sent.aborted_at is not None:
            reason = "abort"
            if self.round > sent.aborted_at + 2:
                raise Wrong(f"aborted in round {sent.aborted_at}, ended only now: {msg}")
            if self.check_books and not sent.reused and msg.uid in self.scheduler.held():
                raise Wrong(f"ended, but something is held for it: {msg}")
        elif sent.got != sent.expected:
            raise Wrong(f"ended before {sent.expected} were sent: {msg}")
        elif sent.got[-1] in self.eos and not sent.msg.sampling_params.ignore_eos:
            reason = "stop"
        if msg.finish_reason != reason:
            raise Wrong(f"the reason should be {reason}: {msg}")
        self.phases[f"ended by {reason}"] += 1
        usage, tokens = msg.usage, (len(sent.msg.input_ids), len(sent.got))
        if usage is None or (usage.prompt_tokens, usage.completion_tokens) != tokens:
            raise Wrong(f"{tokens} tokens in and out: {msg}")
        if usage.cached_tokens % self.info.page_size or not 0 <= usage.cached_tokens < usage.prompt_tokens:
            raise Wrong(f"not a possible number of cached tokens: {msg}")
        self.phases["prefix hit"] += usage.cached_tokens > 0
        self.phases[f"ended by {reason} after a retraction"] += sent.retractions > 0

    def _check_held(self) -> None:
        for uid in self.scheduler.held():
            ended_at = self.sent[uid].ended_at
            if ended_at is not None and ended_at < self.round:
                raise Wrong(f"request {uid} ended in round {ended_at}, but something is still held for it")

    def _check_end(self) -> None:
        silent = [uid for uid, sent in self.sent.items() if sent.ended_at is None]
        if silent:
            raise Wrong(f"requests {silent} never got a terminal reply")
        scheduler = self.scheduler
        if scheduler.held() or scheduler.requests or scheduler.cache_manager.reserved:
            raise Wrong(f"idle, but held: {scheduler.held()}")
        slots, pages = len(scheduler.table_manager.free_slots), scheduler.cache_manager.available
        if (slots, pages) != (self.info.num_slots, self.info.num_pages):
            raise Wrong(f"idle, but {slots} slots and {pages} pages can be had of {self.info}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Seeded random schedules on the hashing engine.")
    parser.add_argument("--schedules", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="seed of the first schedule; the others follow")
    args = parser.parse_args()
    logging.disable(logging.CRITICAL)  # duplicates and stray messages are logged as errors, thousands of them
    phases: Counter[str] = Counter()
    failures, start = 0, time.perf_counter()
    for seed in range(args.seed, args.seed + args.schedules):
        fuzz = Fuzz(seed)
        try:
            phases += fuzz.play()
        except Exception as error:
            failures += 1
            print(f"seed {seed}, round {fuzz.round}: {type(error).__name__}: {error}")
    for name, count in sorted(phases.items()):
        print(f"{count:8} {name}")
    right = args.schedules - failures
    print(f"{right} of {args.schedules} schedules right, {time.perf_counter() - start:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
