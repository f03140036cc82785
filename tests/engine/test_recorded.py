"""Recorded tokens are certain, and whoever stands before an engine passes its logprobs on."""

from __future__ import annotations

import numpy as np

from minisgl_tutor.engine.base import EngineInfo, ForwardBatch, LogprobRows, SamplingBatch, TableUpdate
from minisgl_tutor.engine.recorded import RecordedAnswer, RecordedEngine
from minisgl_tutor.engine.slow import SlowEngine

INFO = EngineInfo(page_size=4, num_pages=8, num_slots=3, max_seq_len=16, vocab_size=100)


def test_the_recorded_token_is_certain() -> None:
    answers = {4: RecordedAnswer(3, (50, 51)), 5: RecordedAnswer(1, (60,))}
    engine = RecordedEngine(INFO, answers, [], rid_of=lambda uid: uid, now_us=lambda: 0)
    row = np.zeros(2, np.int32)
    sampling = SamplingBatch(row, row, row, row, row, logprobs=LogprobRows(np.array([0]), 5))
    lens = np.array([4, 1], np.int32)
    batch = ForwardBatch(
        "decode", [4, 5], row, lens - 1, lens, row, TableUpdate(row, row, row), np.ones(2, bool), sampling
    )
    step = SlowEngine(engine, step_ms=0).forward_batch(batch)
    assert step.next_tokens() == [51, 60]
    found = step.logprobs()
    assert (found.chosen.tolist(), found.top_tokens.tolist(), found.top_logprobs.tolist()) == (
        [0],
        [[51]],
        [[0]],
    )
