"""Rotary position embedding."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .config import Rope


def inverse_frequencies(rope: Rope, head_dim: int) -> Tensor:
    """The angle that each pair of dimensions turns by per position, float32, shape [head_dim / 2]."""
    freqs = 1.0 / rope.theta ** (torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim)
    if rope.kind == "linear":
        return freqs / rope.factor
    if rope.kind == "llama3":
        # Waves longer than the training context are stretched, short ones kept, those between blended.
        turns = rope.original_max_positions * freqs / (2 * math.pi)
        span = rope.high_freq_factor - rope.low_freq_factor
        kept = ((turns - rope.low_freq_factor) / span).clamp(0, 1)
        return freqs * (kept + (1 - kept) / rope.factor)
    return freqs


def rotary_table(rope: Rope, head_dim: int, positions: int, device: torch.device) -> Tensor:
    """Cosines and sines of positions 0 to ``positions`` - 1, float32, shape [positions, 2, head_dim / 2]."""
    angles = torch.outer(torch.arange(positions, dtype=torch.float32), inverse_frequencies(rope, head_dim))
    return torch.stack((angles.cos(), angles.sin()), dim=1).to(device)


def rotate(x: Tensor, cos_sin: Tensor) -> Tensor:
    """Turns the heads of ``x`` [tokens, heads, head_dim] by the table's rows [tokens, 2, head_dim / 2].

    Computed in float32, whatever the type of ``x``, which is that of the result.
    """
    cos, sin = cos_sin[:, 0, None], cos_sin[:, 1, None]
    first, second = x.float().chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).to(x.dtype)
