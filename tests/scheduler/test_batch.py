import numpy as np

from minisgl_tutor.message import SamplingParams
from minisgl_tutor.scheduler.batch import Batch, prepare_batch
from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.table import TableManager


def make_req(table: TableManager, uid: int, prompt: list[int], pages: list[int]) -> Req:
    req = Req.of_prompt(uid, prompt, 4, SamplingParams(), seed=uid)
    table.allocate(req)
    req.pages = pages
    return req


def test_a_prefill_has_the_new_tokens_row_by_row_and_tells_which_rows_emit() -> None:
    table = TableManager(4)
    cached = make_req(table, 5, [1, 2, 3, 4, 5], [8, 9])
    cached.launched_len = 4
    chunk = make_req(table, 6, [6, 7, 8, 9], [3])
    batch = Batch("prefill")
    batch.add(cached, 5)
    batch.add(chunk, 2)
    forward = prepare_batch(batch, table).batch
    assert (forward.phase, forward.uids) == ("prefill", [5, 6])
    assert forward.input_ids.tolist() == [5, 6, 7]
    assert forward.cached_lens.tolist() == [4, 0]
    assert forward.seq_lens.tolist() == [5, 2]
    assert forward.emits.tolist() == [True, False]
    assert forward.sampling.positions.tolist() == [5, 2]
    assert forward.sampling.seeds.tolist() == [5, 6]
    assert {forward.input_ids.dtype, forward.slots.dtype, forward.seq_lens.dtype} == {np.dtype(np.int32)}


def test_pages_are_written_to_the_table_once() -> None:
    table = TableManager(4)
    req = make_req(table, 5, [1, 2, 3, 4, 5, 6], [8, 9])
    first = Batch("prefill")
    first.add(req, 3)
    update = first.table_update()
    assert update.slots.tolist() == [req.slot, req.slot]
    assert update.columns.tolist() == [0, 1]
    assert update.pages.tolist() == [8, 9]
    req.pages.append(4)
    second = Batch("decode")
    second.add(req, 4)
    update = second.table_update()
    assert (update.columns.tolist(), update.pages.tolist()) == ([2], [4])
    third = Batch("decode")
    third.add(req, 5)
    assert third.table_update().pages.tolist() == []


def test_a_decode_has_no_input_of_its_own() -> None:
    table = TableManager(4)
    req = make_req(table, 5, [1, 2, 3], [8])
    req.launched_len = 3
    batch = Batch("decode")
    batch.add(req, 4)
    forward = prepare_batch(batch, table).batch
    assert forward.input_ids.tolist() == []
    assert (forward.cached_lens.tolist(), forward.seq_lens.tolist()) == ([3], [4])
    assert forward.emits.tolist() == [True]
