"""Where in a play the recording's forks take hold: a step is known again by what it is, not by its number.

So a fork stays the same one under other gaps, which put steps in or take them out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ..language import Sentence
from ..message import ErrorReply
from ..recording import ForkLine
from .asgi import Exchange
from .stage import Stage
from .steps import Step
from .tracer import FRONT

Sort = tuple[str, str, str, int]
"""Source, target and title of a step, and for whom it is."""

ON_MESSAGES = ("drop", "delay", "reorder")

ENDS = {"disconnect": ("client", FRONT), "slow": ("client", FRONT), "abort": (FRONT, FRONT)}
"""Between whom it happens, if not to a message."""

SENTENCES = {
    "disconnect": Sentence("here the client of request {rid} leaves"),
    "slow": Sentence(
        "from here on the client of request {rid} takes {ms} ms for each piece; one byte may wait for it"
    ),
    "abort": Sentence("here the server ends request {rid}"),
    "drop": Sentence("this message is lost"),
    "delay": Sentence("this message comes {ms} ms later, and so does what is sent behind it on its link"),
    "reorder": Sentence("this message is overtaken by the next one on its link"),
}


def sort_of(step: Step) -> Sort:
    """What the step is. Of a client's steps the request says for whom, of all others the first uid."""
    who = step.content[0]["request"] if step.kind == "client" else next(iter(step.uids), -1)
    return step.source, step.target, step.title, who


def sentence(fork: ForkLine) -> Sentence:
    """What the fork does, for a reader."""
    return SENTENCES[fork.action].with_values(rid=fork.rid, ms=f"{fork.us / 1000:g}")


class Interventions:
    """Told of every step; gives the forks that take hold at it, each once."""

    def __init__(self, forks: Iterable[ForkLine]) -> None:
        self._forks: dict[tuple[Sort, int], list[ForkLine]] = {}
        for fork in forks:
            place = (fork.source, fork.target, fork.title, fork.who), fork.nth
            self._forks.setdefault(place, []).append(fork)
        self._seen: Counter[Sort] = Counter()
        self._fates: dict[int, ForkLine] = {}

    def at(self, step: Step) -> list[ForkLine]:
        if not self._forks or step.kind == "fork":
            return []
        sort = sort_of(step)
        self._seen[sort] += 1
        forks = self._forks.pop((sort, self._seen[sort]), [])
        for fork in forks:
            if fork.action in ON_MESSAGES and step.kind == "message":
                self._fates[step.number] = fork
        return forks

    def fate(self, step: Step) -> ForkLine | None:
        """What befalls the message that has just become a step; null: nothing."""
        return self._fates.pop(step.number, None)


def carry_out(
    fork: ForkLine, step: Step, stage: Stage, exchange: Exchange | None, uids: Iterable[int]
) -> None:
    """Puts the fork on the list of steps, behind ``step``, and does to its request what it says.

    ``exchange`` is the request's (null: not sent yet) and ``uids`` are those that it has so far. What it
    says of a message is for the stage to do (:meth:`Interventions.fate`).
    """
    source, target = ENDS.get(fork.action, (step.source, step.target))
    note = sentence(fork)
    stage.tracer.enter(stage.tracer.new_step("fork", source, target, fork.action, list(step.uids), note=note))
    if fork.action == "abort":
        stage.loop.call_soon(_abort, stage, list(uids))
    elif fork.action == "slow" and exchange is not None:
        exchange.slow_down(fork.us)
    elif fork.action == "disconnect" and exchange is not None:
        stage.loop.call_soon(exchange.leave)


def _abort(stage: Stage, uids: list[int]) -> None:
    for uid in uids:
        if uid in stage.frontend.unanswered:
            reply = ErrorReply(uid=uid, message="the server ended the request", status=503, code="aborted")
            stage.frontend.cut_short(uid, reply)
