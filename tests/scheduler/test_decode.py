from typing import Any


def test_a_page_is_taken_when_a_row_runs_into_it(make_rig: Any) -> None:
    rig = make_rig(page_size=4, overlap=False)
    rig.send(0, 3, max_tokens=7)
    rig.finish()
    writes = [b.table_update.columns.tolist() for b in rig.engine.batches]
    assert writes == [[0], [], [1], [], [], [], [2]]


def test_a_row_whose_last_token_is_in_flight_stays_out(make_rig: Any) -> None:
    rig = make_rig(overlap=True)
    rig.send(0, 3, max_tokens=2)
    rig.send(1, 3, max_tokens=4)
    rig.finish()
    assert rig.engine.steps == [("prefill", [0, 1]), ("decode", [0, 1]), ("decode", [1]), ("decode", [1])]


def test_runnable_means_that_a_step_can_be_launched(make_rig: Any) -> None:
    rig = make_rig(overlap=True)
    rig.send(0, 3, max_tokens=1)
    rig.round()
    assert list(rig.scheduler.decode_manager.running) == [0]
    assert not rig.scheduler.decode_manager.runnable
    assert rig.scheduler.busy


def test_the_oldest_get_the_last_pages(make_rig: Any) -> None:
    rig = make_rig(page_size=1, num_pages=20, overlap=False)
    for uid in range(3):
        rig.send(uid, 3, max_tokens=4)
    rig.round()
    assert not rig.scheduler.decode_manager.lacks_pages
    rig.scheduler.cache_manager.free_pages = rig.scheduler.cache_manager.free_pages[:2]
    assert rig.scheduler.decode_manager.lacks_pages
    assert rig.scheduler.decode_manager.youngest.uid == 2
    assert [req.uid for req in rig.scheduler.decode_manager.schedule_next_batch().reqs] == [0, 1]


def test_pages_that_a_row_has_already_are_not_lacking(make_rig: Any) -> None:
    rig = make_rig(page_size=4, overlap=False)
    for uid in range(3):
        rig.send(uid, 3, max_tokens=6)
    rig.round()
    rig.scheduler.cache_manager.free_pages.clear()
    assert not rig.scheduler.decode_manager.lacks_pages


def test_abort_req_takes_one_and_keeps_the_order_of_the_others(make_rig: Any) -> None:
    rig = make_rig()
    for uid in (4, 2, 9):
        rig.send(uid, 3, max_tokens=9)
    rig.round(2)
    manager = rig.scheduler.decode_manager
    assert manager.abort_req(2).uid == 2
    assert manager.abort_req(2) is None
    assert list(manager.running) == [4, 9]
