"""Finds what a request left behind, and what was done for nobody, by what is held and what was sent.

It knows nothing of the gaps that are switched on: it sees the system from
outside, as steps and ``held()``, and judges by what should have been. A finding
names the gap of the reference that looks like it, where there is one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ..gaps import claims_of
from ..language import Sentence, counted, sentence_of
from ..scheduler.problems import IntegrityError
from .books import known_gap
from .steps import Held, Step
from .tracer import FRONT

AT_ONCE_US = 1_000
"""An abort later than this after its client left was not sent at once."""


@dataclass(frozen=True)
class Finding:
    """Something wrong with ``uid`` at ``component``; ``gap`` and ``claims`` are empty if none fits."""

    uid: int
    component: str
    note: Sentence
    gap: str = ""
    claims: tuple[str, ...] = ()


@dataclass
class Life:
    """What has been seen of one request."""

    uid: int
    streaming: bool
    client: Literal["waiting", "answered", "left"] = "waiting"
    left_us: int | None = None
    finished: bool = False
    aborted_us: int | None = None
    user_msg: Step | None = None
    backend_abort: Step | None = None
    tokens_after_leaving: int = 0
    tokens_after_abort: int = 0
    forgotten_early: bool = False
    replies: int = 0
    replies_after_leaving: int = 0
    reported: set[str] = field(default_factory=set)


class Auditor:
    """Told of every step and of what clients do; asked for findings.

    ``backlog_limit`` is the number of unread replies that one client may leave.
    """

    def __init__(self, backlog_limit: int) -> None:
        self.lives: dict[int, Life] = {}
        self._backlog_limit = backlog_limit
        self._much_told: set[int] = set()  # those with more replies than may be left unread
        self._last_aborted = -1
        self._books_reported: set[str] = set()

    # -- what happens

    def submitted(self, uid: int, streaming: bool) -> None:
        self.lives[uid] = Life(uid, streaming)

    def client_answered(self, uid: int) -> None:
        self.lives[uid].client = "answered"

    def client_left(self, uid: int, now_us: int) -> None:
        life = self.lives[uid]
        if life.client == "waiting":
            life.client, life.left_us = "left", now_us

    def watch(self, step: Step) -> list[Finding]:
        """Takes note of a step; the findings that it shows by itself."""
        findings = []
        for message in step.content if step.kind == "message" else ():
            life = self.lives.get(message["uid"])
            if life is not None:
                findings += self._watch_message(life, message, step)
        findings += self._backlogs(step.before)
        return findings

    def _watch_message(self, life: Life, message: dict[str, object], step: Step) -> list[Finding]:
        kind = message["type"]
        if kind == "UserMsg":
            life.user_msg = step
        elif kind in ("UserReply", "ErrorReply") and step.target == FRONT:
            life.finished = life.finished or kind == "ErrorReply" or bool(message.get("finished"))
            life.replies += 1
            if life.replies > self._backlog_limit:
                self._much_told.add(life.uid)
            if life.client == "left" and FRONT in step.before and life.uid in step.before[FRONT]:
                life.replies_after_leaving += 1
        elif kind == "DetokenizeMsg" and life.client == "left" and message.get("next_token") is not None:
            life.tokens_after_leaving += 1
            life.forgotten_early |= life.aborted_us is None and life.uid not in step.before.get(FRONT, {})
            abort = life.backend_abort
            life.tokens_after_abort += abort is not None and abort.arrived_us is not None
        elif kind == "AbortBackendMsg":
            life.backend_abort, self._last_aborted = step, life.uid
        elif kind == "AbortMsg" and life.aborted_us is None:
            life.aborted_us = step.t_us
            return self._late_abort(life)
        return []

    def books(self, problem: IntegrityError) -> list[Finding]:
        """What the scheduler's own books say of themselves, if that is new.

        Where they name no request it is the last one that was aborted.
        """
        if problem.thing in self._books_reported:
            return []  # what is wrong with slots, or with pages, goes on to be wrong with them
        self._books_reported.add(problem.thing)
        uid = self._last_aborted if problem.uid is None else problem.uid
        gap = known_gap(problem)
        note = Sentence("the books do not add up: {problem}", problem=sentence_of(problem))
        return [Finding(uid, "scheduler", note, gap, claims_of(gap))]

    def scheduler_failed(self, error: BaseException) -> Finding:
        """Its driver has ended by ``error``."""
        note = Sentence(
            "the scheduler fails ({kind}: {error}), and with it whatever runs or waits",
            kind=type(error).__name__,
            error=error,
        )
        return Finding(self._last_aborted, "scheduler", note)

    # -- what is wrong

    def audit(self, uid: int, held: Held) -> list[Finding]:
        """What ``uid`` has left behind by now. Each thing is reported once.

        To be asked when nothing that concerns ``uid`` is on its way any more.
        """
        life = self.lives[uid]
        findings = [
            *self._never_answered(life, held),
            *self._never_aborted(life),
            *self._aborted_in_vain(life),
            *self._residue(life, held),
        ]
        return [finding for finding in findings if self._is_new(life, finding)]

    def _late_abort(self, life: Life) -> list[Finding]:
        if life.left_us is None or life.aborted_us is None or life.aborted_us - life.left_us <= AT_ONCE_US:
            return []
        delay_ms = (life.aborted_us - life.left_us) / 1000
        note = counted(
            "the abort leaves {delay:.0f} ms after the client did; "
            "{count} reply was filed for nobody in between",
            "the abort leaves {delay:.0f} ms after the client did; "
            "{count} replies were filed for nobody in between",
            count=life.replies_after_leaving,
            delay=delay_ms,
        )
        return [Finding(life.uid, FRONT, note, "late-abort", ("C5.134", "C5.156"))]

    def _backlogs(self, held: Held) -> list[Finding]:
        findings = []
        for uid in sorted(self._much_told):
            life, unread = self.lives[uid], held.get(FRONT, {}).get(uid, {}).get("ack_map", 0)
            if unread > self._backlog_limit and life.client == "waiting":
                note = Sentence(
                    "{unread} replies wait in ack_map for a client that reads slowly; nothing bounds them",
                    unread=unread,
                )
                finding = Finding(uid, FRONT, note, "endless-backlog", ("C5.168", "C5.170"))
                if self._is_new(life, finding):
                    findings.append(finding)
        return findings

    def _never_answered(self, life: Life, held: Held) -> list[Finding]:
        if life.client != "waiting" or life.finished or life.uid in held.get("scheduler", {}):
            return []
        if life.user_msg is not None and life.user_msg.arrived_us is None:
            note = Sentence("the request was lost on its way to the scheduler; its client waits for ever")
            return [Finding(life.uid, "scheduler", note)]
        if life.user_msg is not None:
            note = Sentence("the scheduler dropped the request and told nobody; its client waits for ever")
            return [Finding(life.uid, "scheduler", note, "silent-drop", ("C5.163", "C5.164"))]
        note = Sentence("a tokenizer took the request and nothing came of it; its client waits for ever")
        return [Finding(life.uid, FRONT, note, "fragile-worker", claims_of("fragile-worker"))]

    def _never_aborted(self, life: Life) -> list[Finding]:
        if life.client != "left" or life.aborted_us is not None or not life.tokens_after_leaving:
            return []
        note = counted(
            "the client left, no abort was sent, and one token was made for nobody",
            "the client left, no abort was sent, and {count} tokens were made for nobody",
            count=life.tokens_after_leaving,
        )
        known: tuple[str, tuple[str, ...]] = ("", ())
        if life.forgotten_early:
            known = ("forget-first", claims_of("forget-first"))
        elif not life.streaming:
            known = ("blind-collect", ("C5.159",))
        return [Finding(life.uid, FRONT, note, *known)]

    def _aborted_in_vain(self, life: Life) -> list[Finding]:
        if not life.tokens_after_abort:
            return []
        note = counted(
            "the abort came before its request; one token was made for nobody",
            "the abort came before its request; {count} tokens were made for nobody",
            count=life.tokens_after_abort,
        )
        return [Finding(life.uid, "scheduler", note, "overtaking-abort", claims_of("overtaking-abort"))]

    def _residue(self, life: Life, held: Held) -> list[Finding]:
        if life.client == "waiting":
            return []
        return [
            Finding(life.uid, component, _residue_note(parts[life.uid]), *_known_residue(life, component))
            for component, parts in sorted(held.items())
            if life.uid in parts
        ]

    def _is_new(self, life: Life, finding: Finding) -> bool:
        key = f"{finding.component} {finding.gap}"
        if key in life.reported:
            return False
        life.reported.add(key)
        return True


def _residue_note(parts: dict[str, int]) -> Sentence:
    what = ", ".join(f"{name} ({amount})" if amount > 1 else name for name, amount in parts.items())
    return Sentence("the request has ended, and its state stays: {what}", what=what)


def _known_residue(life: Life, component: str) -> tuple[str, tuple[str, ...]]:
    if component == FRONT and (life.finished or life.client == "answered"):
        return "early-break", ("C5.158",) if life.client == "answered" else ("C5.158", "C5.160")
    if component == "detokenizer" and life.aborted_us is not None:
        return "forgotten-decode", ("C5.161", "C5.162")
    return "", ()
