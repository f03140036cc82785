"""What the spans of a run come to: each phase's time and share, and what hid behind the engine."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from .timeline import PHASES, WAITING, Phase, Span


@dataclass(frozen=True)
class PhaseAccount:
    """One phase: milliseconds of it in a step that has it, and its part of the time that was not idle."""

    phase: Phase
    median_ms: float
    p99_ms: float
    share: float


@dataclass(frozen=True)
class Account:
    """``work_s`` is the processor's work, of which ``hidden_s`` was done while the engine computed.

    ``idle_s`` is neither work nor waiting for the engine: nobody asked anything.
    """

    steps: int
    idle_s: float
    work_s: float
    wait_s: float
    hidden_s: float
    phases: list[PhaseAccount]


def account(spans: Iterable[Span]) -> Account:
    """The account of a run. A step has a phase once, however often the scheduler was in it."""
    by_step: dict[Phase, dict[int, int]] = {phase: defaultdict(int) for phase in PHASES}
    hidden = 0
    for span in spans:
        by_step[span.phase][span.step] += span.end_ns - span.begin_ns
        hidden += span.hid_ns
    totals = {phase: sum(times.values()) for phase, times in by_step.items()}
    active = sum(total for phase, total in totals.items() if phase != "idle")
    phases = [
        PhaseAccount(
            phase,
            statistics.median(times.values()) / 1e6,
            sorted(times.values())[-(-99 * len(times) // 100) - 1] / 1e6,
            totals[phase] / active,
        )
        for phase, times in by_step.items()
        if times and phase != "idle"
    ]
    work = sum(total for phase, total in totals.items() if phase not in WAITING)
    steps = len(by_step["launch"])
    return Account(steps, totals["idle"] / 1e9, work / 1e9, totals["wait"] / 1e9, hidden / 1e9, phases)
