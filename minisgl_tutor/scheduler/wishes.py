"""What only some requests ask of the sampler: min-p, penalties, biases, logprobs.

It is put together for the rows that ask, so a step in which nobody does costs no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..engine.base import Biases, LogprobRows, Logprobs, Penalties, SamplingBatch
from ..message import SamplingParams, ScoredToken, TokenLogprobs
from .req import Req

Row = tuple[int, Req]
"""A row of the step and its request."""


def has_wishes(params: SamplingParams) -> bool:
    """Whether a request asks for any of it."""
    return bool(params.min_p or params.logit_bias or params.logprobs is not None or has_penalties(params))


def has_penalties(params: SamplingParams) -> bool:
    return bool(params.presence_penalty or params.frequency_penalty)


def with_wishes(sampling: SamplingBatch, rows: Sequence[Row], prefill: bool) -> SamplingBatch:
    """``sampling`` with what ``rows`` ask for: those that emit a token and have wishes, ascending."""
    return replace(
        sampling,
        min_ps=_min_ps(rows, len(sampling.seeds)),
        penalties=_penalties([row for row in rows if has_penalties(row[1].sampling_params)], prefill),
        biases=_biases([row for row in rows if row[1].sampling_params.logit_bias]),
        logprobs=_logprob_rows([row for row in rows if row[1].sampling_params.logprobs is not None]),
    )


def logprobs_by_row(
    found: Logprobs, wanted: LogprobRows, reqs: Sequence[Req], tokens: Sequence[int]
) -> dict[int, TokenLogprobs]:
    """What a step found, by row, with as many of the likeliest as the row's request asked for."""
    columns = (wanted.rows, found.chosen, found.top_tokens, found.top_logprobs)
    by_row = {}
    for row, chosen, top_tokens, top_logprobs in zip(*(column.tolist() for column in columns), strict=True):
        top = list(map(ScoredToken, top_tokens, top_logprobs))
        count = reqs[row].sampling_params.logprobs
        by_row[row] = TokenLogprobs(ScoredToken(tokens[row], chosen), tuple(top[:count]))
    return by_row


def _min_ps(rows: Sequence[Row], count: int) -> np.ndarray | None:
    asked = {row: req.sampling_params.min_p for row, req in rows if req.sampling_params.min_p}
    if not asked:
        return None
    min_ps = np.zeros(count, np.float32)
    min_ps[list(asked)] = list(asked.values())
    return min_ps


def _penalties(rows: Sequence[Row], prefill: bool) -> Penalties | None:
    """In a prefill, which comes behind a retraction if anything was generated, the host knows all of that."""
    if not rows:
        return None
    reqs = [req for _, req in rows]
    known = [range(req.prompt_len, req.prefill_len) if prefill else range(0) for req in reqs]
    return Penalties(
        rows=np.array([row for row, _ in rows], np.int64),
        begins=np.array([req.prompt_len for req in reqs], np.int32),
        presences=np.array([req.sampling_params.presence_penalty for req in reqs], np.float32),
        frequencies=np.array([req.sampling_params.frequency_penalty for req in reqs], np.float32),
        known_slots=np.repeat([req.slot for req in reqs], [len(own) for own in known]).astype(np.int32),
        known_columns=np.concatenate([np.array(own, np.int32) for own in known]),
        known_tokens=np.concatenate(
            [req.token_ids[own.start : own.stop] for req, own in zip(reqs, known, strict=True)]
        ),
    )


def _biases(rows: Sequence[Row]) -> Biases | None:
    entries = [(row, *entry) for row, req in rows for entry in req.sampling_params.logit_bias.items()]
    if not entries:
        return None
    places, tokens, values = zip(*entries, strict=True)
    return Biases(np.array(places, np.int64), np.array(tokens, np.int64), np.array(values, np.float32))


def _logprob_rows(rows: Sequence[Row]) -> LogprobRows | None:
    if not rows:
        return None
    top = max(req.sampling_params.logprobs or 0 for _, req in rows)
    return LogprobRows(np.array([row for row, _ in rows], np.int64), top)
