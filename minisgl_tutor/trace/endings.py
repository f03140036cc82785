"""What the recorded server ended by itself, at its time again: requests by a limit, and its own service."""

from __future__ import annotations

from collections.abc import Mapping

from ..message import ErrorReply, Message, UserReply, unwrap
from ..recording import CutLine, StopLine
from ..server.backlog import SLOW_READER
from .plan import Plan
from .stage import Stage
from .steps import Held
from .tracer import FRONT


class Endings:
    """Ends what ``plan`` says on ``stage``. ``recorded`` has the recording's uid of each of the play's."""

    def __init__(self, plan: Plan, stage: Stage, recorded: Mapping[int, int]) -> None:
        self._stage = stage
        self._recorded = recorded
        self._last_step_us = plan.last_step_us
        self._stopped: set[int] | None = None
        self._filed: dict[int, int] = {}
        self._bounds: dict[int, tuple[int, int]] = {}
        """By the recording's uid: the replies that came for it before it was ended, and when that was."""
        for cut in plan.cuts:
            if cut.code != SLOW_READER:  # its own bound ends that one
                unread = 0 if plan.stalled(cut.uid, cut.t) else cut.unread
                self._bounds[cut.uid] = cut.replies - unread, cut.t
            stage.loop.call_at(cut.t / 1e6, self._cut, cut)
        for stop in plan.stops:
            self._bounds |= {uid: (count, stop.t) for uid, count in zip(stop.uids, stop.replies, strict=True)}
            stage.loop.call_at(stop.t / 1e6, self._stop, stop)

    def arrival(self, msg: Message) -> tuple[int, int] | None:
        """When a message gets to the front end that has a reply which came too late to be told of, with its
        rank then; None: at any time. The play is faster than the server was, and would tell of it.
        """
        due_us = -1
        for reply in unwrap(msg) if self._bounds else ():
            bound = self._bounds.get(self._recorded.get(reply.uid, -1))
            if bound is not None and isinstance(reply, UserReply):
                filed = self._filed[reply.uid] = self._filed.get(reply.uid, 0) + 1
                if filed > bound[0]:
                    due_us = bound[1] + 1
        return None if due_us < 0 else (due_us, 0)

    def after_round(self) -> None:
        """Ends the scheduler as its process ended: once it works for those alone whom the stop left open."""
        if self._stopped is None or self._stage.loop.now_us() < self._last_step_us:
            return
        self._stage.scheduler_over = self._stopped.issuperset(self._stage.scheduler.held())

    def left(self) -> Held:
        """What the components hold: of what a stop left open the front end alone, as the others are gone."""
        held, gone = self._stage.held(), self._stopped
        if not gone:
            return held
        return {
            name: parts if name == FRONT else {uid: part for uid, part in parts.items() if uid not in gone}
            for name, parts in held.items()
        }

    def _cut(self, line: CutLine) -> None:
        frontend = self._stage.frontend
        uid = next((uid for uid, recorded in self._recorded.items() if recorded == line.uid), -1)
        if uid in frontend.unanswered:
            reply = ErrorReply(uid=uid, message=line.message, status=line.status, code=line.code)
            frontend.cut_short(uid, reply)

    def _stop(self, line: StopLine) -> None:
        frontend = self._stage.frontend
        self._stopped = (self._stopped or set()) | frontend.unanswered
        frontend.fail_all(line.message)
