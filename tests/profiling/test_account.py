"""The account of a run, by hand."""

from __future__ import annotations

from minisgl_tutor.profiling.account import account
from minisgl_tutor.profiling.timeline import Span

MS = 1_000_000


def test_an_account_by_hand() -> None:
    spans = [
        Span("idle", 0, 100 * MS, 0),
        Span("launch", 100 * MS, 101 * MS, 0),
        Span("plan", 101 * MS, 103 * MS, 0),
        Span("launch", 103 * MS, 104 * MS, 0),
        Span("wait", 104 * MS, 110 * MS, 0, hid_ns=1 * MS),
        Span("launch", 110 * MS, 114 * MS, 1),
        Span("wait", 114 * MS, 120 * MS, 1, hid_ns=2 * MS),
    ]
    found = account(spans)
    assert found.steps == 2
    assert (found.idle_s, found.work_s, found.wait_s, found.hidden_s) == (0.1, 0.008, 0.012, 0.003)
    phases = {phase.phase: phase for phase in found.phases}
    assert list(phases) == ["plan", "launch", "wait"]
    # Step 0 was in "launch" twice, for 2 ms together; step 1 for 4 ms.
    assert (phases["launch"].median_ms, phases["launch"].p99_ms, phases["launch"].share) == (3.0, 4.0, 0.3)
    assert (phases["wait"].median_ms, phases["wait"].share) == (6.0, 0.6)
    assert sum(phase.share for phase in found.phases) == 1.0


def test_nothing_happened() -> None:
    found = account([])
    assert (found.steps, found.phases) == (0, [])
