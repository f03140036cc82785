"""Triton kernels compiled side by side, instead of one after the other as they are met."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
import triton

from ..language import Sentence
from ..progress import progress


def compile_ahead(rehearsals: Iterable[Callable[[], None]], rank: int) -> None:
    """Compiles what ``rehearsals`` launch. In them, a kernel that is not compiled yet is skipped.

    So the others may be given what nobody computed, and must be able to bear that.
    """
    missing: dict[str, tuple[Any, str]] = {}

    def note(*, key: str, fn: Any, compile: dict[str, Any], **_: Any) -> bool:
        missing[fn.name + key] = (fn.jit_function, compile["specialization_data"])
        return True  # not now

    before = triton.knobs.runtime.jit_cache_hook
    triton.knobs.runtime.jit_cache_hook = note
    try:
        for rehearse in rehearsals:
            rehearse()
    finally:
        triton.knobs.runtime.jit_cache_hook = before
    if not missing:
        return
    # Each thread has a current device of its own.
    device = torch.cuda.current_device()
    threads = ThreadPoolExecutor(os.cpu_count(), initializer=torch.cuda.set_device, initargs=(device,))
    with threads, progress(Sentence("compiling kernels"), len(missing), rank) as advance:
        for compiled in [threads.submit(kernel.preload, how) for kernel, how in missing.values()]:
            compiled.result()
            advance(1)
