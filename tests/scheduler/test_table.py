import numpy as np

from minisgl_tutor.message import SamplingParams
from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.table import TableManager


def make_req(params: SamplingParams, seed: int = 0) -> Req:
    return Req.of_prompt(0, [1], 1, params, seed)


def test_each_request_has_a_slot_of_its_own_until_it_is_freed() -> None:
    table = TableManager(3)
    reqs = [make_req(SamplingParams()) for _ in range(3)]
    for req in reqs:
        table.allocate(req)
    assert sorted(req.slot for req in reqs if req.slot is not None) == [0, 1, 2]
    assert table.free_slots == []
    table.free(reqs[1])
    table.free(reqs[1])
    assert len(table.free_slots) == 1
    assert reqs[1].slot is None


def test_sampling_values_follow_the_rows_of_a_batch() -> None:
    table = TableManager(3)
    greedy, sampled = (
        make_req(SamplingParams()),
        make_req(SamplingParams(temperature=0.5, top_k=40, top_p=0.9), seed=-1),
    )
    table.allocate(greedy)
    table.allocate(sampled)
    batch = table.sampling(np.array([sampled.slot, greedy.slot]), np.array([7, 9], np.int32))
    np.testing.assert_array_equal(batch.temperatures, np.array([0.5, 0], np.float32))
    np.testing.assert_array_equal(batch.top_ks, [40, -1])
    np.testing.assert_array_equal(batch.top_ps, np.array([0.9, 1], np.float32))
    np.testing.assert_array_equal(batch.seeds, np.array([2**64 - 1, 0], np.uint64))
    np.testing.assert_array_equal(batch.positions, [7, 9])
    assert batch.positions.dtype == np.int64


def test_both_ways_of_saying_no_top_k_mean_off_and_a_huge_one_fits() -> None:
    table = TableManager(3)
    reqs = [make_req(SamplingParams(top_k=top_k)) for top_k in (0, -5, 2**62)]
    for req in reqs:
        table.allocate(req)
    batch = table.sampling(np.array([req.slot for req in reqs]), np.array([0, 0, 0]))
    assert batch.top_ks.tolist() == [-1, -1, 2**31 - 1]
