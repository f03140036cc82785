"""What a recording says, where its lines were written by processes that noted things down late."""

from __future__ import annotations

import msgspec
import pytest

from minisgl_tutor.recording import ArriveLine, DisconnectLine, SubmitLine
from minisgl_tutor.trace.play import play


def late(recording, kind, by):
    """The recording, with the lines of one kind noted down ``by`` microseconds late."""
    lines = [
        msgspec.structs.replace(line, t=line.t + by) if isinstance(line, kind) else line
        for line in recording.lines
    ]
    return msgspec.structs.replace(recording, lines=sorted(lines, key=lambda line: line.t))


@pytest.fixture
def left(script):
    """One client leaves at 0.1 s; its abort reaches the scheduler 400 us later."""
    rid = script.request(1_000, "a long answer " * 5, ends=False)
    script.leave(rid, 100_000)
    script.lines.append(ArriveLine(100_400, [], [rid]))
    return script.recording()


@pytest.mark.parametrize("kind", [SubmitLine, DisconnectLine])
def test_a_line_written_late_does_not_make_its_message_late(left, byte_tokenizer, kind):
    as_it_was = play(left, byte_tokenizer)
    noted_late = play(late(left, kind, by=30_000), byte_tokenizer)
    assert tokens(noted_late) == tokens(as_it_was)


def tokens(result):
    return [
        message
        for step in result.steps
        if step.source == "scheduler" and step.kind == "message"
        for message in step.content
    ]
