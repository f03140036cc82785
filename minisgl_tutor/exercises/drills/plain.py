"""Recordings of streams that nothing disturbs, for exercises whose own plays are of the front end alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...recording import Recording
from ...resources import model_dir
from ...tokenizer.load import load_eos_token_ids, load_tokenizer
from .lifecycle.observation import Job, Observation
from .lifecycle.schedule import Client, Schedule
from .lifecycle.score import STEP_US, Scorer

__all__ = ["STEP_US", "recording"]


def recording() -> Callable[[Sequence[int]], Recording]:
    """Makes recordings of streaming clients that come together and stay, with so many replies each.

    Reply number ``n``, from 0, comes shortly behind ``STEP_US * (n + 1)``.
    """
    tokenizer = load_tokenizer(model_dir())
    scorer = Scorer(tokenizer, load_eos_token_ids(model_dir(), tokenizer), _not_needed)

    def of(replies: Sequence[int]) -> Recording:
        return scorer.recording(Schedule(tuple(Client(True, count) for count in replies)), [])

    return of


def _not_needed(job: Job) -> Observation:
    raise AssertionError("nobody leaves, so no time depends on a rehearsal")
