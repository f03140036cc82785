"""The hashing engine is right by hand-made steps, and any mix-up shows in its output."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from minisgl_tutor.engine.base import (
    Biases,
    EngineError,
    EngineInfo,
    ForwardBatch,
    LogprobRows,
    Penalties,
    Phase,
    SamplingBatch,
    TableUpdate,
)
from minisgl_tutor.engine.hashing import RARER, HashingEngine

INFO = EngineInfo(page_size=4, num_pages=8, num_slots=3, max_seq_len=16, vocab_size=1000)
PROMPT = [3, 1, 4, 1, 5, 9]


def make_batch(
    phase: Phase,
    rows: Sequence[tuple[int, int, int]],
    ids: Sequence[int] = (),
    table: Sequence[tuple[int, int, int]] = (),
    emits: Sequence[bool] | None = None,
    seed: int = 0,
    **asked: Any,
) -> ForwardBatch:
    """Rows are (slot, cached, end), table writes (slot, column, page)."""
    slots, cached, ends = (np.array(column, np.int32) for column in zip(*rows, strict=True))
    writes = np.array(table, np.int32).reshape(-1, 3)
    count = len(rows)
    return ForwardBatch(
        phase=phase,
        uids=list(range(count)),
        slots=slots,
        cached_lens=cached,
        seq_lens=ends,
        input_ids=np.array(ids, np.int32),
        table_update=TableUpdate(writes[:, 0], writes[:, 1], writes[:, 2]),
        emits=np.array([True] * count if emits is None else emits),
        sampling=SamplingBatch(
            np.zeros(count, np.float32),
            np.full(count, -1, np.int32),
            np.ones(count, np.float32),
            np.full(count, seed, np.uint64),
            ends.astype(np.int64),
            **asked,
        ),
    )


def prefill(seed: int = 0) -> ForwardBatch:
    """PROMPT in slot 1, on pages 5 and 2."""
    return make_batch("prefill", [(1, 0, 6)], PROMPT, [(1, 0, 5), (1, 1, 2)], seed=seed)


def decode(end: int, table: Sequence[tuple[int, int, int]] = ()) -> ForwardBatch:
    return make_batch("decode", [(1, end - 1, end)], table=table)


@pytest.mark.parametrize("lag", [False, True])
def test_steps_give_what_is_computed_without_batching(lag: bool) -> None:
    engine = HashingEngine(INFO, lag)
    steps = [
        engine.forward_batch(prefill()),
        engine.forward_batch(decode(7)),
        engine.forward_batch(decode(8)),
    ]
    steps.append(engine.forward_batch(decode(9, [(1, 2, 0)])))
    assert [step.next_tokens() for step in steps] == [[token] for token in engine.expected_tokens(PROMPT, 4)]


def test_chunks_and_a_neighbour_make_no_difference() -> None:
    engine = HashingEngine(INFO)
    other = [2, 7, 1]
    first = make_batch(
        "prefill",
        [(1, 0, 4), (0, 0, 3)],
        PROMPT[:4] + other,
        [(1, 0, 5), (0, 0, 7)],
        emits=[False, True],
    )
    second = make_batch("prefill", [(1, 4, 6)], PROMPT[4:], [(1, 1, 2)])
    assert engine.forward_batch(first).next_tokens() == [-1, *engine.expected_tokens(other, 1)]
    assert engine.forward_batch(second).next_tokens() == engine.expected_tokens(PROMPT, 1)


def test_a_shared_page_gives_the_same_as_computing_it() -> None:
    engine = HashingEngine(INFO)
    engine.forward_batch(prefill())
    prompt = [*PROMPT[:4], 8, 8]
    shared = make_batch("prefill", [(2, 4, 6)], [8, 8], [(2, 0, 5), (2, 1, 3)])
    assert engine.forward_batch(shared).next_tokens() == engine.expected_tokens(prompt, 1)


def test_expected_tokens_end_at_an_eos_unless_ignored() -> None:
    engine = HashingEngine(INFO)
    tokens = engine.expected_tokens(PROMPT, 5)
    assert len(tokens) == 5
    assert engine.expected_tokens(PROMPT, 5, {tokens[2]}) == tokens[:3]
    assert engine.expected_tokens(PROMPT, 5, {tokens[2]}, ignore_eos=True) == tokens


def test_sampling_plays_no_part() -> None:
    assert [HashingEngine(INFO).forward_batch(prefill(seed)).next_tokens() for seed in (0, 1)] == [
        HashingEngine(INFO).expected_tokens(PROMPT, 1)
    ] * 2


def penalized(known: Sequence[tuple[int, int, int]] = ()) -> Penalties:
    """Of row 0, whose answer begins behind PROMPT."""
    factor = np.array([0.5], np.float32)
    row, begin = np.zeros(1, np.int64), np.full(1, len(PROMPT), np.int32)
    return Penalties(row, begin, factor, factor * 2, *np.array(known, np.int32).reshape(-1, 3).T)


def test_penalties_make_a_token_depend_on_what_was_generated() -> None:
    engine = HashingEngine(INFO)
    expected = engine.expected_tokens(PROMPT, 4, penalties=(0.5, 1.0))
    first = make_batch("prefill", [(1, 0, 6)], PROMPT, [(1, 0, 5), (1, 1, 2)], penalties=penalized())
    found = engine.forward_batch(first).next_tokens()
    for end in (7, 8):
        step = make_batch("decode", [(1, end - 1, end)], penalties=penalized())
        found += engine.forward_batch(step).next_tokens()
    assert found == expected[:3]
    assert found != engine.expected_tokens(PROMPT, 3)
    # In another slot, after a retraction, what the pages of the cache stand for has to be told.
    for known, right in (((0, 6, expected[0]), (0, 7, expected[1])), True), ((), False):
        table, own = [(0, 0, 5), (0, 1, 2), (0, 2, 3)], penalized(known)
        again = make_batch("prefill", [(0, 8, 9)], expected[2:3], table, penalties=own)
        engine._token_pool[0] = 0
        assert (engine.forward_batch(again).next_tokens() == expected[3:]) is right


def test_biases_of_one_row_change_that_row() -> None:
    rows = [(1, 0, 6), (0, 0, 6)]
    table = [(1, 0, 5), (1, 1, 2), (0, 0, 1), (0, 1, 3)]
    biases = Biases(np.ones(2, np.int64), np.array([7, 3]), np.array([1, -2], np.float32))
    engine = HashingEngine(INFO)
    found = engine.forward_batch(make_batch("prefill", rows, PROMPT * 2, table, biases=biases)).next_tokens()
    [plain], [bent] = (engine.expected_tokens(PROMPT, 1, biases=own) for own in ({}, {3: -2.0, 7: 1.0}))
    assert found == [plain, bent]
    assert plain != bent


def test_the_token_that_comes_without_any_is_the_likeliest() -> None:
    wanted = LogprobRows(np.array([0]), 3)
    biases = Biases(np.zeros(1, np.int64), np.array([7]), np.array([1], np.float32))
    table = [(1, 0, 5), (1, 1, 2)]
    for own in (None, biases):
        engine = HashingEngine(INFO, lag=True)
        step = engine.forward_batch(
            make_batch("prefill", [(1, 0, 6)], PROMPT, table, logprobs=wanted, biases=own)
        )
        found, [likeliest], [token] = step.logprobs(), engine.expected_tokens(PROMPT, 1), step.next_tokens()
        assert found.top_tokens.tolist() == [[(likeliest + rank) % INFO.vocab_size for rank in range(3)]]
        assert found.top_logprobs.tolist() == [[-RARER, -2 * RARER, -3 * RARER]]
        assert found.chosen.tolist() == [-RARER * (1 + (token - likeliest) % INFO.vocab_size)]


def test_the_output_is_the_same_on_every_machine() -> None:
    assert HashingEngine(INFO).expected_tokens(PROMPT, 4) == [984, 467, 295, 393]


def wrong_page() -> ForwardBatch:
    return decode(7, [(1, 0, 6)])


def pages_swapped() -> ForwardBatch:
    return decode(7, [(1, 0, 2), (1, 1, 5)])


def page_written_by_another() -> ForwardBatch:
    return make_batch("decode", [(1, 6, 7), (0, 0, 1)], table=[(0, 0, 5)])


def position_skipped() -> ForwardBatch:
    return decode(8)


def wrong_slot() -> ForwardBatch:
    return make_batch("decode", [(0, 6, 7)], table=[(0, 0, 5), (0, 1, 2)])


@pytest.mark.parametrize(
    "batch", [wrong_page, pages_swapped, page_written_by_another, position_skipped, wrong_slot]
)
def test_a_mix_up_changes_the_output(batch: Callable[[], ForwardBatch]) -> None:
    engine = HashingEngine(INFO)
    engine.forward_batch(prefill())
    assert engine.forward_batch(batch()).next_tokens()[0] != engine.expected_tokens(PROMPT, 2)[1]


def test_the_right_tokens_behind_a_wrong_beginning_change_the_output() -> None:
    """K/V depends on all that came before, so a page is of use behind its own prefix only."""
    engine = HashingEngine(INFO)
    engine.forward_batch(prefill())
    tail = make_batch("prefill", [(2, 0, 8)], [7, 7, 7, 7, 6, 6, 6, 6], [(2, 0, 3), (2, 1, 4)])
    engine.forward_batch(tail)
    mixed = make_batch("prefill", [(0, 8, 9)], [1], [(0, 0, 5), (0, 1, 4), (0, 2, 6)])
    expected = engine.expected_tokens([*PROMPT[:4], 6, 6, 6, 6, 1], 1)
    assert engine.forward_batch(mixed).next_tokens() != expected


def test_a_row_without_pages_is_an_error() -> None:
    with pytest.raises(EngineError, match="slot 1 has 6 positions"):
        HashingEngine(INFO).forward_batch(make_batch("prefill", [(1, 0, 6)], PROMPT, [(1, 0, 5)]))


def test_a_lagging_step_runs_at_the_next_launch_and_sees_what_that_wrote() -> None:
    """A slot given away while a step in flight reads it: right without lag, wrong with it."""
    takes_over = make_batch("prefill", [(1, 0, 8)], [9] * 8, [(1, 0, 0), (1, 1, 1)])
    outputs = {}
    for lag in (False, True):
        engine = HashingEngine(INFO, lag)
        engine.forward_batch(prefill())
        in_flight = engine.forward_batch(decode(7))
        engine.forward_batch(takes_over)
        outputs[lag] = in_flight.next_tokens()
    assert outputs[False] == engine.expected_tokens(PROMPT, 2)[1:]
    assert outputs[True] != outputs[False]


def test_asking_for_tokens_runs_a_lagging_step() -> None:
    engine = HashingEngine(INFO, lag=True)
    step = engine.forward_batch(prefill())
    assert step.tokens is None
    assert step.next_tokens() == engine.expected_tokens(PROMPT, 1)


def test_close_drops_what_has_not_run() -> None:
    engine = HashingEngine(INFO, lag=True)
    step = engine.forward_batch(prefill())
    engine.close()
    engine.run_pending()
    assert step.tokens is None
