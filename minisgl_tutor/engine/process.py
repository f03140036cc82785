"""Makes a process a good neighbour before it computes. Imports no torch."""

from __future__ import annotations

import os
import sys


def default_threads() -> int:
    """As many threads as this process may use cores."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def prepare_process(threads: int | None) -> None:
    """To be called first in a process that will run a model, before anything imports torch.

    Threads that wait sleep instead of spinning; spinning ones take the cores from
    tokenizer and API server, and a busy neighbour then more than halves the speed.

    Raises:
        RuntimeError: torch is in the process already, so it is too late.
    """
    if "torch" in sys.modules:
        raise RuntimeError("prepare_process must run before torch is imported")
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    os.environ["OMP_NUM_THREADS"] = str(threads or default_threads())
