"""Schedulers whose retraction is broken on purpose: the random schedules must find them out."""

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from minisgl_tutor.message import AbortBackendMsg, Single
from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler

Faults = Callable[..., Iterator[Exception]]


class RequeuesInFlight(Scheduler):
    """Does not wait for the token that is under way to a retracted request."""

    def _retract(self, req: Req) -> None:
        in_flight, req.in_flight = req.in_flight, 0
        super()._retract(req)
        req.in_flight = in_flight


class RetractsOldest(Scheduler):
    def _retract(self, req: Req) -> None:
        super()._retract(next(iter(self.decode_manager.running.values())))


class NeverRetracts(Scheduler):
    def _make_room(self) -> None:
        pass


class ForgetsTheRetracted(Scheduler):
    def _requeue_if_drained(self, req: Req) -> None:
        super()._requeue_if_drained(req)
        self.prefill_manager.waiting.pop(req.uid, None)


class QueuesRetractedLast(Scheduler):
    def _requeue_if_drained(self, req: Req) -> None:
        super()._requeue_if_drained(req)
        if req.uid in self.prefill_manager.waiting:
            self.prefill_manager.waiting[req.uid] = self.prefill_manager.waiting.pop(req.uid)


class KeepsSlotOfRetracted(Scheduler):
    def _requeue_if_drained(self, req: Req) -> None:
        slot = req.slot
        super()._requeue_if_drained(req)
        if not req.retracted and slot is not None:
            self.table_manager.free_slots.remove(slot)


class AbortsNoRetracted(Scheduler):
    def _process_one_msg(self, msg: Single) -> None:
        req = self.prefill_manager.waiting.get(msg.uid) if isinstance(msg, AbortBackendMsg) else None
        if req is None or req.prefill_len == req.prompt_len:
            super()._process_one_msg(msg)


class WithReq(Scheduler):
    """A scheduler whose requests are of another class."""

    req_class = Req

    def _new_req(self, *args: Any) -> Req:
        req = super()._new_req(*args)
        return self.req_class(*(getattr(req, name) for name in Req.__dataclass_fields__))


class LosesTokensOfRetracted(WithReq):
    class req_class(Req):
        __slots__ = ()

        def start_over(self) -> None:
            self.length = self.prompt_len
            super().start_over()


class RepeatsTokenOfRetracted(WithReq):
    class req_class(Req):
        __slots__ = ()

        def start_over(self) -> None:
            super().start_over()
            self.prefill_len -= 1


class KeepsMapOfRetracted(WithReq):
    """Takes the row that a retracted request had in the page table for the one that it gets."""

    class req_class(Req):
        __slots__ = ()

        def start_over(self) -> None:
            mapped = self.mapped
            super().start_over()
            self.mapped = mapped


class CountsAnswerAsPrompt(WithReq):
    class req_class(Req):
        __slots__ = ()

        def start_over(self) -> None:
            super().start_over()
            self.prompt_len = self.prefill_len


class CountsOwnPagesAsHits(WithReq):
    class req_class(Req):
        __slots__ = ()

        def begin(self, cached_len: int) -> None:
            super().begin(cached_len)
            self.cached_len = cached_len


class CountsTokensTwice(WithReq):
    """Takes the tokens that a retracted request has off what it may generate."""

    class req_class(Req):
        __slots__ = ()

        def start_over(self) -> None:
            self.max_len = max(self.length + 1, self.max_len - (self.length - self.prompt_len))
            super().start_over()


BROKEN = [
    RequeuesInFlight,
    RetractsOldest,
    NeverRetracts,
    ForgetsTheRetracted,
    QueuesRetractedLast,
    KeepsSlotOfRetracted,
    AbortsNoRetracted,
    LosesTokensOfRetracted,
    RepeatsTokenOfRetracted,
    KeepsMapOfRetracted,
    CountsAnswerAsPrompt,
    CountsOwnPagesAsHits,
    CountsTokensTwice,
]


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_retraction_is_found_out(faults: Faults, broken: type[Scheduler]) -> None:
    assert next(faults(broken), None) is not None


@pytest.mark.parametrize("broken", [RequeuesInFlight, KeepsMapOfRetracted, LosesTokensOfRetracted])
def test_a_splice_shows_in_the_tokens_alone(
    fuzz: ModuleType, faults: Faults, broken: type[Scheduler]
) -> None:
    """Without a look at the books."""
    found = faults(broken, check_books=False)
    assert any(isinstance(fault, fuzz.Wrong) and "is wrong" in str(fault) for fault in found)
