"""A write that waited for its reader waits again in a replay, and is a step."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from minisgl_tutor.recording import Recording, StallLine
from minisgl_tutor.scheduler.scheduler import Scheduler
from minisgl_tutor.trace.play import play, stream


@pytest.mark.parametrize("leaves_at", [None, 150_000])
def test_a_recorded_stall_holds_the_stream_up_until_it_was_over(script, byte_tokenizer, leaves_at):
    """From its third event on, for 200 ms; or until the client leaves."""
    rid = script.request(1_000, "a long answer", ends=False)
    script.lines.append(StallLine(250_000, rid, 3, 200_000))
    if leaves_at is not None:
        script.leave(rid, leaves_at)
    result = play(script.recording(), byte_tokenizer)
    (blocked,) = [step for step in result.steps if step.title == "blocked"]
    chunks = [step.t_us for step in result.steps if step.title == "chunk"]
    assert blocked.t_us < 100_000 and "does not read" in str(blocked.content[0]["note"])
    assert len([at for at in chunks if at < blocked.t_us]) == 3
    assert not [at for at in chunks if blocked.t_us <= at < 250_000]
    assert bool(len(chunks) > 3) is (leaves_at is None)
    assert not result.findings and not any(result.held.values())


def test_a_slow_reader_blocks_the_writes_to_it(script, byte_tokenizer):
    rid = script.request(1_000, "abcdef")
    script.pace(rid, 40_000)
    titles = [step.title for step in play(script.recording(), byte_tokenizer).steps]
    assert titles.count("blocked") > 2


@pytest.mark.parametrize("gaps", [(), ("reference",)])
def test_a_stream_gives_the_steps_that_a_play_keeps(script, byte_tokenizer, gaps):
    for i in range(4):
        rid = script.request(1_000 + 7_000 * i, "abcdefgh" * (i + 1))
        if i % 2:
            script.leave(rid, 60_000 + i)
    given = []
    result = stream(script.recording(), byte_tokenizer, gaps, given.append)
    kept = play(script.recording(), byte_tokenizer, gaps)
    assert given == kept.steps
    assert result.count == kept.count == len(given)
    assert not result.steps and not result.exchanges
    assert result.findings == kept.findings


def test_what_the_receiver_of_steps_raises_ends_a_stream(script, byte_tokenizer):
    script.request(1_000, "abc")

    def give(step):
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        stream(script.recording(), byte_tokenizer, (), give)


def test_tokens_past_the_recorded_end_are_marked(script, byte_tokenizer):
    """The recorded run ended at its fourth token, by a budget that this one does not have."""
    script.request(1_000, "abcd", ends=False, limit=7)
    steps = play(script.recording(), byte_tokenizer).steps
    told = [m for step in steps if step.target == "detokenizer" for m in step.content if "next_token" in m]
    assert [message.get("not_recorded", False) for message in told] == [False] * 4 + [True] * 3


class RunsNothing(Scheduler):
    def _schedule_next_batch(self):
        return None


@pytest.mark.parametrize("overlap", [True, False])
def test_a_scheduler_that_stays_busy_with_nothing_comes_to_rest(script, byte_tokenizer, overlap):
    script.request(1_000, "abc")
    script.request(300_000, "def")
    recording = script.recording()
    header = replace(recording.header, overlap=overlap)
    result = play(Recording(header, recording.lines), byte_tokenizer, classes=[RunsNothing])
    assert sorted(result.held["scheduler"]) == [0, 1]
