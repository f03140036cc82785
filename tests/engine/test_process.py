"""A process is prepared before torch is imported, or not at all."""

from __future__ import annotations

import os
import sys
from types import ModuleType

import pytest

from minisgl_tutor.engine.process import default_threads, prepare_process


def test_waiting_threads_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(os, "environ", {"OMP_WAIT_POLICY": "ACTIVE"})
    prepare_process(3)
    assert os.environ == {"OMP_WAIT_POLICY": "PASSIVE", "OMP_NUM_THREADS": "3"}
    prepare_process(None)
    assert os.environ["OMP_NUM_THREADS"] == str(default_threads())


def test_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", ModuleType("torch"))
    monkeypatch.setattr(os, "environ", {})
    with pytest.raises(RuntimeError, match="before torch is imported"):
        prepare_process(1)
    assert os.environ == {}


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no affinity on this system")
def test_threads_are_the_cores_that_may_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 5, 7})
    assert default_threads() == 3
