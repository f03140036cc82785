"""What is odd in a recording is played as the recorded server met it; what fails in a play fails the play."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from minisgl_tutor.recording import RequestLine, StepLine, SubmitLine
from minisgl_tutor.resources import PACKAGE_DIR
from minisgl_tutor.trace.play import play
from minisgl_tutor.trace.steps import code_location

HOUR_US = 3_600_000_000


def refused(path: str = "/v1/completions", body: str = "{}", kind: str = "application/json") -> RequestLine:
    return RequestLine(0, 0, "POST", path, body, kind)


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (refused("/\u4e2d\ufffd?x=\u4e2d"), 404),
        (refused("/%ff/%00"), 404),
        (refused(""), 404),
        (refused(body='{"model": "m", "prompt": "x"}', kind="text/plain"), 400),
        (refused(body="[" * 100_000), 400),
        (refused(body=""), 400),
        (refused(body='{"model": "\\xff"}'), 400),
    ],
)
def test_a_request_that_was_refused_is_refused_again(script, line, status: int) -> None:
    script.lines.append(line)
    played = play(script.recording(), script.tokenizer)
    assert played.exchanges[0].status == status
    assert played.exchanges[0].app_traceback == "" and played.uids == {}


@pytest.mark.parametrize(
    "extra", [r'"user": "\ud800"', '"user": NaN', '"stream": "false"', '"stream": "true"']
)
def test_a_body_that_only_a_lenient_reader_takes_is_played(script, extra: str) -> None:
    rid = script.request(0, "hello")
    body = f'{{"model": "m", "messages": [{{"role": "user", "content": "hi"}}], "max_tokens": 9, {extra}}}'
    script.lines[0] = RequestLine(0, rid, "POST", "/v1/chat/completions", body)
    exchange = play(script.recording(), script.tokenizer).exchanges[rid]
    assert (exchange.status, exchange.app_traceback) == (200, "")
    assert exchange.body.startswith(b"data: ") == ("true" in extra)


def test_hours_in_which_nothing_happened_are_skipped(script) -> None:
    """A server that was recorded for days is played to the end."""
    first, last = script.request(0, "one"), script.request(100 * HOUR_US, "two", stream=False)
    played = play(script.recording(), script.tokenizer)
    assert {rid: exchange.status for rid, exchange in played.exchanges.items()} == {first: 200, last: 200}
    assert json.loads(played.exchanges[last].body)["choices"][0]["message"]["content"] == "two"


def test_a_client_that_needs_a_second_for_each_piece_gets_its_whole_answer(script) -> None:
    rid = script.request(0, "abc")
    script.pace(rid, chunk_us=1_000_000)
    exchange = play(script.recording(), script.tokenizer).exchanges[rid]
    assert exchange.body.endswith(b"data: [DONE]\n\n") and exchange.over


def test_a_client_that_left_before_its_request_was_submitted_is_submitted_and_aborted(script) -> None:
    """The recorded server had read the body, and learnt a moment later that nobody waits."""
    rid = script.request(1000, "hello")
    script.leave(rid, at=900, chunks=0)
    played = play(script.recording(), script.tokenizer)
    assert rid in played.uids and played.exchanges[rid].status is None
    assert "AbortMsg" in {step.title for step in played.steps}
    assert not any(played.held.values())


def test_steps_of_a_request_whose_submit_is_lost_are_left_out(script) -> None:
    """The recorded server was killed between the two: they are written by two processes."""
    lost, kept = script.request(0, "one"), script.request(1_000_000, "two", stream=False)
    script.lines = [line for line in script.lines if not (isinstance(line, SubmitLine) and line.rid == lost)]
    played = play(script.recording(), script.tokenizer)
    assert json.loads(played.exchanges[kept].body)["choices"][0]["message"]["content"] == "two"
    assert any(isinstance(line, StepLine) and line.uids == [lost] for line in script.recording().lines)


def test_a_component_that_fails_fails_the_play(script, monkeypatch: pytest.MonkeyPatch) -> None:
    from minisgl_tutor.scheduler.scheduler import Scheduler
    from minisgl_tutor.tokenizer.server import TokenizeWorker

    def broken(*_: object, **__: object) -> None:
        raise LookupError("a fault")

    for owner, method in ((Scheduler, "round"), (TokenizeWorker, "round")):
        script.lines.clear()
        script.request(0, "hello")
        with monkeypatch.context() as patch, pytest.raises(LookupError, match="a fault"):
            patch.setattr(owner, method, broken)
            play(script.recording(), script.tokenizer)


def test_a_step_does_not_show_how_the_program_was_started() -> None:
    """`python -m minisgl_tutor` and the console script print the same bytes."""
    found: dict[str, Callable[[], object]] = {"code_location": code_location}
    exec(compile("where = code_location()", str(PACKAGE_DIR / "__main__.py"), "exec"), found)
    assert found["where"] == []
