"""Chapter 2, exercise 1: one uid goes with a request through all components (C2.30, C2.31, C5.17, C5.57)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import cached_property
from types import ModuleType
from typing import Any

import msgspec

from ...links import MemoryChannel, MemoryPull, MemoryPush
from ...message import (
    AbortBackendMsg,
    AbortMsg,
    BatchTokenizerMsg,
    DetokenizeMsg,
    SamplingParams,
    TokenizeMsg,
    UserMsg,
)
from ...recording import Recording
from ...resources import model_dir
from ...scheduler.scheduler import Scheduler
from ...server.frontend import FrontendManager
from ...tokenizer.detokenize import DetokenizeManager
from ...tokenizer.load import load_tokenizer
from ...tokenizer.server import TokenizeWorker
from ...tokenizer.tokenize import TokenizeManager
from ...tokenizer.tokenizer import Tokenizer
from ..drill import Drill, Found, Reader, Say
from ..reader_file import the_class
from . import back
from .back_recording import Recorder, round_us
from .stage import LAST_US

PLACE, OTHER_UID, WRONG_TEXT, PARAMS, LOST, FOREIGN, ABORTS, OVERTAKES = (
    "place",
    "other-uid",
    "wrong-text",
    "params",
    "lost",
    "foreign",
    "aborts",
    "overtakes",
)
TEXTS = ("Hello", "What is a page?", "再见", "Why?", "Tell me of slots.", "A longer question, then?")
REFUSED = ""
QUESTIONS = {
    "MADE": {FrontendManager.new_user.__name__},
    "SENT": {FrontendManager.send_one.__name__, FrontendManager.submit.__name__},
    "RECEIVED": {FrontendManager.listen.__name__},
}
"""The names that a reader's file gives places by, and which methods are right."""

FILE = "server/frontend.py"
GUEST_ROUNDS = 4


class Ask(msgspec.Struct, frozen=True, tag=True):
    uid: int
    text: str


class Abort(msgspec.Struct, frozen=True, tag=True):
    uid: int


class Case(msgspec.Struct, frozen=True):
    """What comes before each round of the worker: in one message, if it is more than one thing.

    A scheduler answers each request with its own prompt, a token a round; ``backwards``: those that came
    last are answered first. ``where``: the reader's three answers are looked at instead.
    """

    check: str
    rounds: tuple[tuple[Ask | Abort, ...], ...] = ()
    backwards: bool = False
    where: bool = False

    @property
    def asks(self) -> list[Ask]:
        return [each for came in self.rounds for each in came if isinstance(each, Ask)]

    @property
    def has_guest(self) -> bool:
        """In a recording another request comes first."""
        return all(ask.uid for ask in self.asks)

    @property
    def clients(self) -> list[int]:
        """The uids, in the order of a recording's clients."""
        return [0] * self.has_guest + [ask.uid for ask in self.asks]

    def at_us(self, uid: int) -> int:
        """When the request is sent in a recording."""
        asked = (any(isinstance(each, Ask) and each.uid == uid for each in came) for came in self.rounds)
        return round_us(list(asked).index(True) + GUEST_ROUNDS * self.has_guest) + 1

    @property
    def aborts(self) -> list[int]:
        return [each.uid for came in self.rounds for each in came if isinstance(each, Abort)]


class Sent(msgspec.Struct, frozen=True):
    """A ``UserMsg``; ``text`` is what its ids read as."""

    uid: int
    text: str
    max_tokens: int


class Seen(msgspec.Struct):
    """What the worker sent, to the scheduler and to the front end: of these uid and text, and who is over.

    ``early``: aborts that were sent before a request with their uid was.
    """

    requests: list[Sent] = []
    aborts: list[int] = []
    early: list[int] = []
    replies: list[tuple[int, str]] = []
    over: list[int] = []
    places: dict[str, str] = {}


class OneUidDrill(Drill[Case, Case, Seen]):
    """Sends requests through a subclass of ``TokenizeWorker`` and back."""

    job_type = Case
    seen_type = Seen
    checks = (
        "first-alone",
        "alone",
        "one-after-another",
        "two-at-once",
        "same-prompt",
        "abort",
        "refused",
        "where",
        "at-random",
    )
    faults = (OTHER_UID, WRONG_TEXT, PARAMS, ABORTS, OVERTAKES, LOST, FOREIGN, PLACE)

    def prepare(self) -> None:
        assert self._tokenizer is not None

    def find(self, module: ModuleType, file: str) -> type[TokenizeWorker]:
        return the_class(module, TokenizeWorker, file, ("_tokenize",))

    def cases(self, rng: random.Random) -> Sequence[Case]:
        zero, one, two = (Ask(uid, TEXTS[uid]) for uid in range(3))
        fixed = [
            Case("first-alone", ((zero,),)),
            Case("alone", ((one,),)),
            Case("alone", ((Ask(41, TEXTS[2]),),)),
            Case("one-after-another", ((zero,), (one,))),
            Case("one-after-another", ((zero,), (one,), (two,)), backwards=True),
            Case("two-at-once", ((zero, one),)),
            Case("two-at-once", ((one, zero, two),), backwards=True),
            Case("same-prompt", ((Ask(3, TEXTS[1]), Ask(4, TEXTS[1])),)),
            Case("same-prompt", ((Ask(3, TEXTS[1]),), (Ask(4, TEXTS[1]),)), backwards=True),
            Case("abort", ((Ask(5, TEXTS[0]), Abort(5)),)),
            Case("abort", ((zero, one), (Abort(1),))),
            Case("abort", ((Abort(2), Ask(3, TEXTS[1]), Abort(3)),)),
            Case("refused", ((Ask(6, REFUSED),),)),
            Case("refused", ((one, Ask(2, REFUSED), Ask(3, TEXTS[3])),)),
            Case("where", where=True),
        ]
        return [*fixed, *(_random_case(rng) for _ in range(20))]

    def play(self, reader: Reader, job: Case) -> Seen:
        if job.where:
            names = vars(reader.module) if reader.module is not None else {}
            return Seen(places={name: _place(names.get(name)) for name in QUESTIONS})
        return _play(reader.found, job, self._tokenizer)

    def judge(self, case: Case, seen: Seen) -> Iterator[Found]:
        if case.where:
            for name, right in QUESTIONS.items():
                file, _, symbol = seen.places.get(name, "").partition(" ")
                if file != FILE or symbol not in right:
                    yield Found(PLACE, {"what": name, "got": seen.places.get(name, "") or "-"})
            return
        for ask in case.asks:
            for fault, values in _of_one(ask, seen):
                yield Found(
                    fault, {"uid": ask.uid, **values}, case.clients.index(ask.uid), case.at_us(ask.uid)
                )
        known = {ask.uid for ask in case.asks}
        strange = [sent.uid for sent in seen.requests if sent.uid not in known]
        strange += [uid for uid, _ in seen.replies if uid not in known]
        if strange:
            yield Found(OTHER_UID, {"uid": sorted(known), "got": strange[:3]}, 0, LAST_US)
        overtaken = {ask.uid for ask in case.asks if ask.text != REFUSED} & set(seen.early)
        if overtaken:
            yield Found(OVERTAKES, {"uid": min(overtaken)}, 0, LAST_US)
        if sorted(seen.aborts) != sorted(case.aborts):
            yield Found(ABORTS, {"due": case.aborts or ["-"], "got": seen.aborts or ["-"]}, 0, LAST_US)

    def check_of(self, case: Case, fault: str) -> str:
        return case.check

    def in_words(self, case: Case, say: Say) -> str:
        if case.where:
            return say("three places")
        parts = [
            say("worker aborts" if isinstance(each, Abort) else "worker asks", round=number, uid=each.uid)
            for number, came in enumerate(case.rounds, 1)
            for each in came
        ]
        return say("sentence end").join(parts) + (say("backwards") if case.backwards else "")

    def size(self, case: Case) -> tuple[int, ...]:
        return sum(map(len, case.rounds)), len(case.rounds)

    def recording(self, case: Case) -> tuple[Recording, str] | None:
        """The same requests with clients of the whole server, which numbers them from 0 on.

        Where none has the uid 0, another request comes and goes before.
        """
        if not case.asks or any(ask.text == REFUSED for ask in case.asks):
            return None
        uids = case.clients

        def comes(each: Ask | Abort) -> back.Ask | back.Abort:
            place = uids.index(each.uid)
            return back.Ask(place, 6, 3) if isinstance(each, Ask) else back.Abort(place)

        rounds = tuple(tuple(comes(each) for each in came if each.uid in uids) for came in case.rounds)
        if case.has_guest:
            rounds = ((back.Ask(0, 6, 3),), *((),) * (GUEST_ROUNDS - 1), *rounds)
        plan = back.Plan(case.check, rounds, num_slots=8, num_pages=64)
        own = back.play(Scheduler, back.Job(plan, plan.eos), back.Log())
        return Recorder(self._tokenizer).recording(plan, own), "2.3"

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return load_tokenizer(model_dir())


def _of_one(ask: Ask, seen: Seen) -> Iterator[tuple[str, dict[str, Any]]]:
    sent = [each for each in seen.requests if each.uid == ask.uid]
    if len(sent) != int(ask.text != REFUSED):
        yield OTHER_UID, {"got": [each.uid for each in seen.requests] or ["-"]}
    for each in sent[:1]:
        if each.text != ask.text:
            yield WRONG_TEXT, {"due": ask.text, "got": each.text}
        if each.max_tokens != _max_tokens(ask.uid):
            yield PARAMS, {"due": _max_tokens(ask.uid), "got": each.max_tokens}
    text = "".join(text for uid, text in seen.replies if uid == ask.uid)
    if ask.uid not in seen.over:
        yield LOST, {}
    elif text != ask.text:
        yield FOREIGN, {"due": ask.text, "got": text}


def _play(cls: type[TokenizeWorker], case: Case, tokenizer: Tokenizer) -> Seen:
    inbox, to_scheduler, to_front = (MemoryChannel(name) for name in (">worker", ">scheduler", ">api"))
    worker = cls(
        MemoryPull(inbox),
        MemoryPush(to_scheduler),
        MemoryPush(to_front),
        TokenizeManager(tokenizer),
        DetokenizeManager(tokenizer),
    )
    scheduler, front, push = MemoryPull(to_scheduler), MemoryPull(to_front), MemoryPush(inbox)
    seen, left = Seen(), dict[int, list[int]]()
    rounds = list(case.rounds)
    while rounds or left:
        came: list[Any] = [_message(each) for each in (rounds.pop(0) if rounds else ())]
        answers: list[Any] = []
        for uid in reversed(list(left)) if case.backwards else list(left):
            token = left[uid].pop(0)
            answers.append(DetokenizeMsg(uid, token, not left[uid], None if left[uid] else "length"))
            if not left[uid]:
                del left[uid]
        for msgs in (came, answers):
            if msgs:
                push.put(msgs[0] if len(msgs) == 1 else BatchTokenizerMsg(msgs))
        worker.round(blocking=False)
        for msg in scheduler.drain(False):
            if isinstance(msg, UserMsg):
                text = tokenizer.decoder.decode(msg.input_ids)
                seen.requests.append(Sent(msg.uid, text, msg.sampling_params.max_tokens))
                left.setdefault(msg.uid, list(msg.input_ids))  # a uid that is alive is not taken twice
            elif isinstance(msg, AbortBackendMsg):
                seen.aborts.append(msg.uid)
                if msg.uid not in [each.uid for each in seen.requests]:
                    seen.early.append(msg.uid)
        for msg in front.drain(False):
            seen.replies.append((msg.uid, getattr(msg, "incremental_output", "")))
            if getattr(msg, "finished", False):
                seen.over.append(msg.uid)
    return seen


def _message(each: Ask | Abort) -> TokenizeMsg | AbortMsg:
    if isinstance(each, Abort):
        return AbortMsg(uid=each.uid)
    return TokenizeMsg(each.uid, each.text, SamplingParams(max_tokens=_max_tokens(each.uid)))


def _max_tokens(uid: int) -> int:
    return 10 + uid


def _place(value: object) -> str:
    """``file symbol``, however a reader writes the two: without package, class and brackets."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        return ""
    file, symbol = (str(each).strip()[:100] for each in value)
    return f"{file.removeprefix('minisgl_tutor/')} {symbol.removesuffix('()').rpartition('.')[2]}".strip()


def _random_case(rng: random.Random) -> Case:
    uids = rng.sample(range(60), rng.randint(2, 6))
    rounds: list[tuple[Ask | Abort, ...]] = []
    known: list[int] = []
    while uids:
        came: list[Ask | Abort] = []
        for uid in uids[: rng.randint(1, 3)]:
            came.append(Ask(uid, rng.choice((*TEXTS, *TEXTS, REFUSED))))
            known.append(uid)
        del uids[: len(came)]
        if rng.random() < 0.3:
            came.append(Abort(rng.choice(known)))
        rounds.append(tuple(came))
    return Case("at-random", tuple(rounds), rng.random() < 0.5)
