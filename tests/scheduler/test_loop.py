"""One round: what it does, in which order."""

from collections.abc import Callable
from typing import Any

import pytest

from minisgl_tutor.message import Single
from minisgl_tutor.scheduler.batch import ForwardInput
from minisgl_tutor.scheduler.scheduler import Scheduler

EOS = 2
both_loops = pytest.mark.parametrize("overlap", [False, True], ids=["normal", "overlap"])


class Logged(Scheduler):
    """Notes the stages of a round."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.log: list[Any] = []

    def receive_msg(self, blocking: bool) -> list[Single]:
        self.log.append(("receive", blocking))
        return super().receive_msg(blocking)

    def _process_one_msg(self, msg: Single) -> None:
        self.log.append("message")
        super()._process_one_msg(msg)

    def _schedule_next_batch(self) -> ForwardInput | None:
        self.log.append("schedule")
        return super()._schedule_next_batch()

    def _forward(self, forward_input: ForwardInput) -> Any:
        self.log.append("forward")
        return super()._forward(forward_input)

    def _process_last_data(self, last_data: Any) -> None:
        self.log.append(("process", last_data is not None))
        super()._process_last_data(last_data)

    def _free_req_resources(self, req: Any) -> None:
        self.log.append(("free", req.uid))
        super()._free_req_resources(req)


def test_c2_62_a_message_only_files_the_request(make_rig: Any) -> None:
    rig = make_rig()
    rig.send(0, 3)
    for msg in rig.scheduler.receive_msg(blocking=False):
        rig.scheduler._process_one_msg(msg)
    assert rig.engine.batches == []
    assert list(rig.scheduler.prefill_manager.waiting) == [0]


def test_c2_63_order_of_a_normal_round(make_rig: Any) -> None:
    rig = make_rig(scheduler_class=Logged, overlap=False)
    rig.send(0, 3)
    rig.round()
    assert rig.scheduler.log == [("receive", True), "message", "schedule", "forward", ("process", True)]


@both_loops
def test_c2_64_receiving_blocks_only_with_nothing_to_do(make_rig: Any, overlap: bool) -> None:
    rig = make_rig(scheduler_class=Logged, overlap=overlap, num_slots=1)
    rig.send(0, 3, max_tokens=2)
    rig.send(1, 3, max_tokens=1)
    rig.finish()
    rig.round()
    blocking = [entry[1] for entry in rig.scheduler.log if entry[0] == "receive"]
    assert blocking == [True, *[False] * (len(blocking) - 2), True]


def test_c2_65_without_a_batch_nothing_is_forwarded(make_rig: Any) -> None:
    rig = make_rig(scheduler_class=Logged, overlap=False)
    rig.round()
    assert rig.scheduler.log == [("receive", True), "schedule", ("process", False)]


def test_c2_66_normal_loop_reads_a_step_before_it_launches_the_next(make_rig: Any) -> None:
    rig = make_rig(overlap=False)
    rig.send(0, 3, max_tokens=3)
    rig.finish()
    kinds = [kind for kind, _ in rig.engine.log]
    assert kinds == ["prefill", "read", "decode", "read", "decode", "read"]


def test_c2_68_overlap_loop_reads_a_step_after_it_launched_the_next(make_rig: Any) -> None:
    rig = make_rig(overlap=True)
    rig.send(0, 3, max_tokens=3)
    rig.finish()
    kinds = [kind for kind, _ in rig.engine.log]
    assert kinds == ["prefill", "decode", "read", "decode", "read", "read"]


@both_loops
def test_c5_116_the_end_frees_once_and_leaves_no_record(make_rig: Any, overlap: bool) -> None:
    rig = make_rig(scheduler_class=Logged, overlap=overlap, script={0: [9, EOS]})
    rig.send(0, 3, max_tokens=9)
    rig.finish()
    assert rig.scheduler.log.count(("free", 0)) == 1
    assert rig.scheduler.decode_manager.running == {}
    rig.assert_all_free()


def test_run_forever_plays_round_after_round(make_rig: Any) -> None:
    class Stop(Exception):
        pass

    class Stopping(Scheduler):
        rounds = 0

        def round(self) -> None:
            self.rounds += 1
            if self.rounds == 5:
                raise Stop
            super().round()

    rig = make_rig(scheduler_class=Stopping)
    rig.send(0, 3, max_tokens=2)
    with pytest.raises(Stop):
        rig.scheduler.run_forever()
    rig.assert_all_free()


@pytest.mark.parametrize("name", ["normal_loop", "overlap_loop"])
def test_the_loops_can_be_called_by_name(make_rig: Callable[..., Any], name: str, ends_of: Any) -> None:
    rig = make_rig()
    rig.send(0, 3, max_tokens=2)
    for _ in range(4):
        getattr(rig.scheduler, name)()
    assert ends_of(rig.round(), 0) == ["length"]
