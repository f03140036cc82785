"""Each way in which an answer can end, in a recording of its own: its replay ends it so, at that point."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from minisgl_tutor.recording import (
    CutLine,
    Recording,
    RefuseLine,
    RequestLine,
    StallLine,
    StopLine,
)
from minisgl_tutor.server.frontend import FrontendManager
from minisgl_tutor.trace.play import Play, play

from .conftest import STEP_US

ANSWER = "abcdefgh"
HALF_US = 1000 + 4 * STEP_US + STEP_US // 2
"""Of an answer that was asked for at 1000 us: four tokens are told of, and the fifth is being computed."""


def events(result: Play, rid: int) -> list[Any]:
    pieces = result.exchanges[rid].body.decode().split("\n\n")
    return [json.loads(piece[6:]) for piece in pieces if piece.startswith("data: {")]


def told(result: Play, rid: int) -> tuple[str, str | None, str | None]:
    """The text of a stream, why it ended, and the code of the error in it."""
    bodies = events(result, rid)
    choices = [choice for body in bodies for choice in body.get("choices", ())]
    text = "".join(choice["delta"].get("content", "") for choice in choices)
    reasons = [choice["finish_reason"] for choice in choices if choice["finish_reason"]]
    codes = [body["error"]["code"] for body in bodies if "error" in body]
    return text, *([*reasons, None][:1]), *([*codes, None][:1])


def aborts(result: Play, source: str) -> list[int]:
    """The uids of the aborts that a component sent to the next."""
    return [
        message["uid"]
        for step in result.steps
        if step.kind == "message" and step.source == source
        for message in step.content
        if message["type"] in ("AbortMsg", "AbortBackendMsg")
    ]


def is_clean(result: Play) -> bool:
    return not result.findings and not any(result.held.values())


@pytest.mark.parametrize(
    ("ends", "limit", "reason", "text"),
    [(True, 200, "stop", ANSWER), (False, len(ANSWER), "length", ANSWER), (True, 3, "length", "abc")],
)
def test_an_answer_ends_by_its_token_or_by_its_length(script, ends, limit, reason, text) -> None:
    rid = script.request(1000, ANSWER, ends=ends, limit=limit)
    result = play(script.recording(), script.tokenizer)
    assert told(result, rid) == (text, reason, None)
    assert aborts(result, "api") == [] and is_clean(result)


def test_at_a_stop_string_the_detokenizer_has_the_scheduler_stop(script) -> None:
    rid = script.request(1000, ANSWER, ends=False)
    request = script.lines[0]
    script.lines[0] = msgspec.structs.replace(
        request, body=json.dumps({**json.loads(request.body), "stop": ["de"]})
    )
    result = play(script.recording(), script.tokenizer)
    assert told(result, rid) == ("abc", "stop", None)
    assert aborts(result, "detokenizer") == [0] and aborts(result, "api") == [] and is_clean(result)


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_before_the_first_token_gets_nothing(script, stream: bool) -> None:
    rid = script.request(1000, ANSWER, stream=stream)
    script.leave(rid, at=1000 + STEP_US // 2, chunks=0)
    result = play(script.recording(), script.tokenizer)
    assert result.exchanges[rid].body == b"" and aborts(result, "api") == [0] and is_clean(result)


def test_a_client_that_leaves_later_has_what_was_sent_until_then(script) -> None:
    rid = script.request(1000, ANSWER)
    script.leave(rid, at=HALF_US, chunks=4)
    result = play(script.recording(), script.tokenizer)
    assert told(result, rid) == ("abcd", None, None)
    assert aborts(result, "api") == [0] and is_clean(result)


def test_an_error_of_the_scheduler_is_the_answer(script) -> None:
    """The prompt does not fit, which the scheduler is the first to know."""
    rid = script.request(1000, "", content="x" * script.max_seq_len, stream=False, ends=False)
    result = play(script.recording(), script.tokenizer)
    assert result.exchanges[rid].status == 400
    assert json.loads(result.exchanges[rid].body)["error"]["code"] == "context_length_exceeded"
    assert aborts(result, "api") == [] and is_clean(result)


def cut(uid: int, at: int, replies: int, unread: int = 0, code: str = "request_timeout") -> CutLine:
    return CutLine(at, uid, replies, unread, 503 if code == "slow_reader" else 504, code, "it took too long")


def test_a_limit_before_the_first_token_is_a_status(script) -> None:
    rid = script.request(1000, ANSWER)
    script.lines.append(cut(rid, 1000 + STEP_US // 2, replies=0, code="first_token_timeout"))
    result = play(script.recording(), script.tokenizer)
    exchange = result.exchanges[rid]
    assert (exchange.status, json.loads(exchange.body)["error"]["code"]) == (504, "first_token_timeout")
    assert aborts(result, "api") == [0] and is_clean(result)


def test_a_limit_in_mid_stream_is_an_event(script) -> None:
    rid = script.request(1000, ANSWER)
    script.lines.append(cut(rid, HALF_US, replies=4))
    result = play(script.recording(), script.tokenizer)
    assert told(result, rid) == ("abcd", None, "request_timeout")
    assert aborts(result, "api") == [0] and is_clean(result)


def test_replies_that_came_after_a_cut_come_after_it_again(script) -> None:
    """The recorded front end had two replies by then, of which its client had read one; a play has four."""
    rid = script.request(1000, ANSWER)
    script.lines.append(cut(rid, HALF_US, replies=2, unread=1))
    result = play(script.recording(), script.tokenizer)
    assert told(result, rid) == ("a", None, "request_timeout") and is_clean(result)


def test_one_that_ended_before_its_cut_is_left_alone(script) -> None:
    """It was ended at the same time, and the play is faster."""
    rid = script.request(1000, "ab")
    script.lines.append(cut(rid, 1000 + 20 * STEP_US, replies=3))
    result = play(script.recording(), script.tokenizer)
    assert told(result, rid) == ("ab", "stop", None) and aborts(result, "api") == [] and is_clean(result)


@pytest.mark.parametrize(("gaps", "code"), [((), "slow_reader"), (("endless-backlog",), None)])
def test_a_slow_reader_is_ended_where_the_gaps_are_the_recorded_ones(script, gaps, code) -> None:
    rid = script.request(1000, ANSWER)
    script.pace(rid, chunk_us=10 * STEP_US)
    script.lines.append(cut(rid, HALF_US, replies=4, unread=2, code="slow_reader"))
    result = play(script.recording(), script.tokenizer, gaps)
    assert told(result, rid)[2] == code
    assert aborts(result, "api") == ([0] if code else [])


def test_a_slow_reader_is_ended_by_its_own_bound(script) -> None:
    """That is the instant; the line is for what a play cannot know, as how much fits on the way."""
    script.backlog_limit = 2
    rid = script.request(1000, ANSWER)
    script.pace(rid, chunk_us=10 * STEP_US)
    script.lines.append(cut(rid, HALF_US + 2 * STEP_US, replies=5, unread=3, code="slow_reader"))
    result = play(script.recording(), script.tokenizer)
    (abort,) = [step for step in result.steps if step.title == "AbortMsg"]
    assert abort.t_us < HALF_US + STEP_US and told(result, rid)[2] == "slow_reader" and is_clean(result)


def test_what_was_unread_as_a_write_waited_had_come_before_the_cut(script) -> None:
    rid = script.request(1000, ANSWER)
    script.lines.append(StallLine(HALF_US + 2 * STEP_US, rid, 1, 5 * STEP_US))
    script.lines.append(cut(rid, HALF_US, replies=4, unread=2))
    result = play(script.recording(), script.tokenizer)
    replies = [step.arrived_us or 0 for step in result.steps if step.title == "UserReply"]
    assert sum(at < HALF_US for at in replies) == 4
    assert told(result, rid)[2] == "request_timeout" and is_clean(result)


def stopped(
    script, message: str = "the server is stopping", replies: int = 4
) -> tuple[Recording, int, int, int]:
    """One that has ended, one in mid-answer, one without a token yet; and then the server stops."""
    ended, half = script.request(0, "ab"), script.request(1000, ANSWER)
    fresh = script.request(HALF_US - STEP_US // 4, ANSWER, stream=False)
    script.lines.append(StopLine(HALF_US, [half, fresh], [replies, 0], message))
    return until(script.recording(), HALF_US), ended, half, fresh


def until(recording: Recording, us: int) -> Recording:
    """What was written by then: behind it no process of the recorded server was there to write."""
    return Recording(recording.header, [line for line in recording.lines if line.t <= us])


@pytest.mark.parametrize(
    "message", ["the server is stopping", "minisgl-TP0-scheduler ended by SIGKILL; the server stops"]
)
def test_at_the_stop_all_that_is_open_ends_with_its_message(script, message: str) -> None:
    """Whether by Ctrl+C or as the engine's process was gone."""
    recording, ended, half, fresh = stopped(script, message)
    result = play(recording, script.tokenizer)
    assert told(result, ended) == ("ab", "stop", None)
    assert told(result, half) == ("abcd", None, "server_failing")
    assert events(result, half)[-1]["error"]["message"] == message
    assert result.exchanges[fresh].status == 503
    assert json.loads(result.exchanges[fresh].body)["error"]["message"] == message
    assert is_clean(result)


def test_the_stop_aborts_nothing_as_its_workers_end(script) -> None:
    recording, *_ = stopped(script)
    result = play(recording, script.tokenizer)
    assert aborts(result, "api") == []
    # What the scheduler works for at that moment is not recorded to its end, and nothing follows.
    assert set(result.beyond.values()) == {1}


def test_a_reply_that_came_behind_the_stop_is_not_told_of(script) -> None:
    recording, _, half, _ = stopped(script, replies=2)
    assert told(play(recording, script.tokenizer), half) == ("ab", None, "server_failing")


def test_the_workers_go_on_until_they_are_ended(script) -> None:
    """What the recorded scheduler did between the stop and its own end, a replay's does too."""
    stopped(script)
    recording = until(script.recording(), HALF_US + 2 * STEP_US)
    result = play(recording, script.tokenizer)
    assert max(step.t_us for step in result.steps if step.kind == "call") > HALF_US + STEP_US
    assert is_clean(result)


class Keeper(FrontendManager):
    """Forgets nothing."""

    def forget(self, uid: int) -> None:
        self.unanswered.discard(uid)


def test_what_the_front_end_keeps_behind_a_stop_is_found(script) -> None:
    """It is the one that does not end by being ended."""
    recording, _, half, fresh = stopped(script)
    result = play(recording, script.tokenizer, classes=[Keeper])
    assert {half, fresh} <= {finding.uid for finding in result.findings}
    assert {half, fresh} <= result.held["api"].keys()


def test_a_request_behind_the_stop_is_turned_away(script) -> None:
    recording, *_ = stopped(script)
    at = HALF_US + 500
    body = json.dumps({"model": "toy", "prompt": "hi"})
    late = [RequestLine(at, 3, "POST", "/v1/completions", body), RefuseLine(at, 3, 503)]
    result = play(Recording(recording.header, [*recording.lines, *late]), script.tokenizer)
    assert result.exchanges[3].status == 503 and 3 not in result.uids and is_clean(result)


def test_a_killed_server_tells_nobody_and_its_requests_go_on(script) -> None:
    """There is no line of such an end: what follows is not recorded, and is said so."""
    rid = script.request(1000, ANSWER, limit=9)
    result = play(until(script.recording(), HALF_US), script.tokenizer)
    text, reason, _ = told(result, rid)
    assert text.startswith("abcd") and reason == "length" and result.beyond == {0: 5} and is_clean(result)
