"""Kernels that follow one another closely (programmatic dependent launch, on Hopper and later).

A step of few rows is some hundreds of kernels of a few microseconds each, and between two
of them the GPU idles for about one more. Launched with ``**CHAINED``, a kernel starts while
the one before it still runs. It has to begin with ``follow()``, which waits until all that
was launched before is complete: only what nobody writes may be read earlier. On other GPUs
both do nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
import triton
import triton.language as tl


def _gpu_chains() -> bool:
    return torch.cuda.is_available() and torch.cuda.get_device_capability() >= (9, 0)


CHAINS: tl.constexpr = tl.constexpr(_gpu_chains())

CHAINED: Mapping[str, bool] = {"launch_pdl": True} if CHAINS.value else {}
"""For the launch."""


@triton.jit
def follow() -> None:
    """Waits for the kernels before this one, and lets the next one start."""
    if CHAINS:
        tl.extra.cuda.gdc_wait()
        tl.extra.cuda.gdc_launch_dependents()
