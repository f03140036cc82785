"""Percentiles by hand, failures by kind, and the sentences that a reader of the figures needs."""

from __future__ import annotations

import json
from array import array

import pytest

from minisgl_tutor.bench.answer import Answer, Counts, RequestFailed
from minisgl_tutor.bench.asks import Ask
from minisgl_tutor.bench.figures import Spread, figures, record, remarks


def answer(
    sent: float, times: list[float], end: float, said: int | None, asked: int | None = None, failed: str = ""
) -> Answer:
    usage = None if said is None else Counts(prompt_tokens=7, completion_tokens=said)
    failure = RequestFailed(failed, "why") if failed else None
    ask = Ask(sent, "/v1/completions", {}, asked)
    return Answer(ask, sent, end, array("d", times), usage, "length", True, failure)


def test_percentiles_are_values_that_occurred() -> None:
    spread = Spread.of([None, *(float(n) for n in range(100, 0, -1))])
    assert (spread.count, spread.mean) == (100, 50.5)
    assert spread.percentiles == {50: 50.0, 90: 90.0, 99: 99.0}
    assert Spread.of([3.0]).percentiles == {50: 3.0, 90: 3.0, 99: 3.0}
    assert Spread.of([1.0, 2.0]).percentiles == {50: 1.0, 90: 2.0, 99: 2.0}
    assert Spread.of([None]).in_ms() == {"count": 0, "mean": None, "p50": None, "p90": None, "p99": None}


def test_throughput_and_latencies_of_two_answers() -> None:
    answers = [
        answer(0.0, [1.0, 1.5, 2.0], 2.0, 3),
        answer(1.0, [3.0, 4.0], 5.0, 5),
        answer(1.0, [1.2], 9.0, None, failed="timeout"),
    ]
    found = figures(answers, client_cpu_s=0.9)
    assert (found["whole"], found["requests"], found["failed"]) == (2, 3, {"timeout": 1})
    assert found["first_message_of_each"] == {"timeout": "why"}
    assert found["seconds"] == 9.0
    assert (found["output_tokens"], found["chunks_of_text"], found["input_tokens"]) == (8, 5, 14)
    assert found["output_tok_s"] == pytest.approx(8 / 9, abs=0.01)
    assert found["requests_s"] == pytest.approx(2 / 9, abs=0.001)
    assert found["client_core_share"] == 0.1
    ms = found["latency_ms"]
    assert ms["time to first token"]["mean"] == 1500
    assert (ms["between chunks of text"]["p50"], ms["between chunks of text"]["p99"]) == (500, 1000)
    assert ms["per token after the first"]["mean"] == (500 + 250) / 2
    assert ms["end to end"]["p99"] == 4000
    json.dumps([found, [record(one) for one in answers]])


def test_255_of_256_is_said() -> None:
    answers = [answer(0.0, [1.0], 2.0, 255, asked=256), answer(0.0, [1.0], 2.0, 256, asked=256)]
    found = figures(answers, 0.0)
    assert found["tokens_per_answer"] == [255, 256]
    (short, chunks) = map(str, remarks(found))
    assert short.startswith("1 of 2 answers are short: as few as 255 tokens, where 256")
    assert chunks.startswith("511 tokens came in 2 chunks")


def test_what_was_counted_by_whom_is_said() -> None:
    with_usage, without = answer(0.0, [1.0], 2.0, 1), answer(0.0, [1.0], 2.0, None)
    assert figures([with_usage], 0.0)["counted_by"] == "the server (usage)"
    assert figures([without], 0.0)["counted_by"] == "chunks of text"
    mixed = figures([with_usage, without], 0.0)
    assert mixed["counted_by"] == "the server, else chunks"
    assert list(map(str, remarks(mixed))) == [
        "The server reported no usage for 1 of 2 answers: there a chunk of text counts as one token."
    ]


def test_a_busy_client_says_so() -> None:
    (remark,) = remarks(figures([answer(0.0, [1.0], 2.0, 1)], client_cpu_s=1.8))
    assert "90% of a core" in str(remark)


def test_a_client_that_cannot_keep_up_says_so() -> None:
    late = answer(5.0, [6.0], 7.0, 1)
    late.sent_s = 5.1
    (remark,) = remarks(figures([late], 0.0, timed=True))
    assert "sent 100 ms or more after it was due" in str(remark)
    assert figures([late], 0.0)["sent_late_ms"] is None


def test_nothing_answered_is_no_division_by_zero() -> None:
    found = figures([answer(0.0, [], 0.0, None, failed="no connection")], 0.0)
    assert (found["output_tok_s"], found["tokens_per_answer"], remarks(found)) == (None, [], [])
