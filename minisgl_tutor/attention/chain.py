"""Kernels that follow one another closely (programmatic dependent launch, on Hopper and later).

A step of few rows is some hundreds of kernels of a few microseconds each, and between two
of them the GPU idles for about one more. Launched with ``**chained(rows)``, a kernel starts
while the one before it still runs. It has to begin with ``follow()``, which waits until all
that was launched before is complete: only what nobody writes may be read earlier. On other
GPUs both do nothing.

With many rows there is little to gain, and programs that start while others still run do not
spread over the multiprocessors as evenly as attention counts on.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
import triton
import triton.language as tl


def _gpu_chains() -> bool:
    return torch.cuda.is_available() and torch.cuda.get_device_capability() >= (9, 0)


CHAINS: tl.constexpr = tl.constexpr(_gpu_chains())

MOST_ROWS = 8


def chained(rows: int) -> Mapping[str, bool]:
    """For the launch of a kernel in a step of so many rows."""
    return {"launch_pdl": True} if CHAINS.value and rows <= MOST_ROWS else {}


@triton.jit
def follow() -> None:
    """Waits for the kernels before this one, and lets the next one start."""
    if CHAINS:
        tl.extra.cuda.gdc_wait()
        tl.extra.cuda.gdc_launch_dependents()
