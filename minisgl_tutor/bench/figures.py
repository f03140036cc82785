"""What a run of a load client comes to: counts, throughput and latencies, as plain values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..language import Sentence
from .answer import Answer, RequestFailed

PERCENTS = (50, 90, 99)
LATENCIES = (
    Sentence("time to first token"),
    Sentence("between chunks of text"),
    Sentence("per token after the first"),
    Sentence("end to end"),
)
COUNTERS = (Sentence("the server (usage)"), Sentence("the server, else chunks"), Sentence("chunks of text"))
"""Who may have counted tokens: the server all of them, or some, or none."""
BUSY_CLIENT, LATE_CLIENT_MS = 0.8, 20
"""From this part of a core on, or this late, the client may be what limits the figures."""


@dataclass(frozen=True)
class Spread:
    """The mean and the percentiles of some values; every one of these is ``None`` if there are none."""

    count: int
    mean: float | None
    percentiles: dict[int, float | None]

    @classmethod
    def of(cls, values: Iterable[float | None]) -> Spread:
        """Of those that are there. A percentile is the least value that so many percent do not pass."""
        ordered = sorted(value for value in values if value is not None)
        if not ordered:
            return cls(0, None, dict.fromkeys(PERCENTS))
        found = {percent: ordered[-(-percent * len(ordered) // 100) - 1] for percent in PERCENTS}
        return cls(len(ordered), sum(ordered) / len(ordered), dict(found))

    def in_ms(self) -> dict[str, Any]:
        named = {"mean": self.mean, **{f"p{percent}": value for percent, value in self.percentiles.items()}}
        return {
            "count": self.count,
            **{name: value if value is None else round(value * 1000, 3) for name, value in named.items()},
        }


def latencies(answers: Sequence[Answer]) -> dict[str, Spread]:
    """By name, of the answers that are whole."""
    whole = [answer for answer in answers if answer.failure is None]
    spreads = (
        Spread.of(answer.first_s for answer in whole),
        Spread.of(gap for answer in whole for gap in answer.gaps_s),
        Spread.of(answer.per_token_s for answer in whole),
        Spread.of(answer.whole_s for answer in whole),
    )
    return dict(zip(map(str, LATENCIES), spreads, strict=True))


def figures(answers: Sequence[Answer], client_cpu_s: float, timed: bool = False) -> dict[str, Any]:
    """All of a run. Throughput counts whole answers alone, and lasts from the first sending to the last end.

    ``client_cpu_s`` is the processor time that the client took; requests are ``timed`` if each had a time
    at which it was due.
    """
    whole = [answer for answer in answers if answer.failure is None]
    failures = [answer.failure for answer in answers if answer.failure is not None]
    begin = min((answer.sent_s for answer in answers), default=0.0)
    took = max((answer.end_s for answer in answers), default=0.0) - begin
    tokens = sum(answer.tokens for answer in whole)
    reported = sum(answer.usage is not None for answer in whole)
    return {
        "requests": len(answers),
        "whole": len(whole),
        "failed": dict(Counter(failure.kind for failure in failures).most_common()),
        "first_message_of_each": {kind: str(failure) for kind, failure in first_failures(answers).items()},
        "seconds": round(took, 4),
        "output_tokens": tokens,
        "counted_by": _counted_by(reported, len(whole)),
        "usage_reported_by": reported,
        "input_tokens": sum(answer.usage.prompt_tokens for answer in whole if answer.usage),
        "chunks_of_text": sum(len(answer.chunk_times) for answer in whole),
        "short_answers": sum(answer.is_short for answer in whole),
        "tokens_per_answer": _least_and_most(answer.tokens for answer in whole),
        "chunks_per_answer": _least_and_most(len(answer.chunk_times) for answer in whole),
        "asked_per_answer": _least_and_most(
            answer.ask.tokens for answer in whole if answer.ask.tokens is not None
        ),
        "finish_reasons": dict(Counter(str(answer.finish_reason) for answer in whole).most_common()),
        "output_tok_s": round(tokens / took, 2) if took else None,
        "requests_s": round(len(whole) / took, 3) if took else None,
        "latency_ms": {name: spread.in_ms() for name, spread in latencies(answers).items()},
        "client_core_share": round(client_cpu_s / took, 3) if took else None,
        "sent_late_ms": Spread.of(answer.late_s for answer in answers).in_ms() if timed else None,
    }


def first_failures(answers: Iterable[Answer]) -> dict[str, RequestFailed]:
    """The first of each kind."""
    found: dict[str, RequestFailed] = {}
    for answer in answers:
        if answer.failure is not None:
            found.setdefault(answer.failure.kind, answer.failure)
    return found


def remarks(found: dict[str, Any]) -> list[Sentence]:
    """What a reader of the figures must know."""
    said = []
    if found["short_answers"]:
        said.append(
            Sentence(
                "{short} of {whole} answers are short: as few as {fewest} tokens, "
                "where {asked} or more were asked for with ignore_eos.",
                short=found["short_answers"],
                whole=found["whole"],
                fewest=found["tokens_per_answer"][0],
                asked=found["asked_per_answer"][0],
            )
        )
    if found["whole"] and found["usage_reported_by"] < found["whole"]:
        said.append(
            Sentence(
                "The server reported no usage for {missing} of {whole} answers: "
                "there a chunk of text counts as one token.",
                missing=found["whole"] - found["usage_reported_by"],
                whole=found["whole"],
            )
        )
    elif found["chunks_of_text"] < found["output_tokens"]:
        said.append(
            Sentence(
                "{tokens:,} tokens came in {chunks:,} chunks of text: some "
                "chunks hold several tokens, some tokens have no text of their own, or some never came.",
                tokens=found["output_tokens"],
                chunks=found["chunks_of_text"],
            )
        )
    if (found["client_core_share"] or 0) > BUSY_CLIENT:
        said.append(
            Sentence(
                "This client kept {share:.0%} of a core busy: it may be the limit, not the server.",
                share=found["client_core_share"],
            )
        )
    if found["sent_late_ms"] is not None and found["sent_late_ms"]["p99"] > LATE_CLIENT_MS:
        said.append(
            Sentence(
                "One in a hundred requests was sent {late:.0f} ms or more after it was due: "
                "this client could not keep up.",
                late=found["sent_late_ms"]["p99"],
            )
        )
    return said


def record(answer: Answer) -> dict[str, Any]:
    """One request, for the JSON file."""
    return {
        "due_s": round(answer.ask.due_s, 6),
        "sent_s": round(answer.sent_s, 6),
        "first_s": None if answer.first_s is None else round(answer.first_s, 6),
        "end_to_end_s": round(answer.whole_s, 6),
        "tokens": answer.tokens,
        "chunks": len(answer.chunk_times),
        "asked": answer.ask.tokens,
        "finish_reason": answer.finish_reason,
        "failure": None if answer.failure is None else answer.failure.kind,
    }


def _counted_by(reported: int, whole: int) -> str:
    by_all, by_some, by_none = map(str, COUNTERS)
    if reported == whole:
        return by_all
    return by_some if reported else by_none


def _least_and_most(values: Iterable[int]) -> list[int]:
    """The two, or nothing of nothing."""
    found = list(values)
    return [min(found), max(found)] if found else []
