"""The K/V pool: memory for the keys and values of all tokens, in pages."""

from __future__ import annotations

import torch
from torch import Tensor

from minisgl_tutor.models.config import ModelConfig


class KVCache:
    """Keys and values by layer, each of shape [num_pages, page_size, kv_heads, head_dim].

    A token's place in it, counted in tokens, is ``page * page_size + offset``.
    """

    def __init__(
        self, config: ModelConfig, num_pages: int, page_size: int, dtype: torch.dtype, device: torch.device
    ) -> None:
        shape = (config.num_layers, num_pages, page_size, config.num_kv_heads, config.head_dim)
        # Zeros, because attention multiplies masked values by zero and must find numbers there.
        self.keys = torch.zeros(shape, dtype=dtype, device=device)
        self.values = torch.zeros(shape, dtype=dtype, device=device)

    def store(self, layer: int, locations: Tensor, k: Tensor, v: Tensor) -> None:
        """Writes the K and V of new tokens, shape [tokens, kv_heads, head_dim], to their places."""
        self.keys[layer].flatten(0, 1).index_copy_(0, locations, k)
        self.values[layer].flatten(0, 1).index_copy_(0, locations, v)

    def gather(self, layer: int, pages: Tensor) -> tuple[Tensor, Tensor]:
        """K and V of whole pages: [..., pages] gives [..., pages * page_size, kv_heads, head_dim]."""
        return (
            self.keys[layer][pages].flatten(-4, -3),
            self.values[layer][pages].flatten(-4, -3),
        )


def kv_bytes_per_token(config: ModelConfig, dtype: torch.dtype) -> int:
    """What one token's K and V take in all layers."""
    return 2 * config.num_layers * config.num_kv_heads * config.head_dim * dtype.itemsize
