"""What a recording says, where its lines were written by processes that noted things down late."""

from __future__ import annotations

import msgspec
import pytest

from minisgl_tutor.recording import ArriveLine, DisconnectLine, RefuseLine, RequestLine, SubmitLine
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


@pytest.mark.parametrize("status", [429, 503])
def test_a_request_for_which_the_server_was_too_busy_is_not_played(script, byte_tokenizer, status):
    script.request(1_000, "an answer")
    as_it_was = play(script.recording(), byte_tokenizer)
    recording = script.recording()
    request = next(line for line in recording.lines if isinstance(line, RequestLine))
    turned_away = [msgspec.structs.replace(request, rid=9, t=500), RefuseLine(600, 9, status)]
    lines = sorted([*recording.lines, *turned_away], key=lambda line: line.t)
    busy = play(msgspec.structs.replace(recording, lines=lines), byte_tokenizer)
    assert tokens(busy) == tokens(as_it_was)
    assert [exchange.status for exchange in busy.exchanges.values()] == [200]
