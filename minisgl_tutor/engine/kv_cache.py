"""The K/V pool: memory for the keys and values of all tokens, in pages."""

from __future__ import annotations

import torch
from torch import Tensor

from ..models.config import ModelConfig


class KVCache:
    """Keys and values, each of shape [layers, num_pages, kv_heads, page_size, head_dim].

    A token's location is ``page * page_size + offset``. Inside a page each head has
    its tokens side by side, so that gathered pages are a head's sequence in one piece.
    """

    def __init__(
        self, config: ModelConfig, num_pages: int, page_size: int, dtype: torch.dtype, device: torch.device
    ) -> None:
        self.page_size = page_size
        self.num_heads = config.num_kv_heads
        shape = (config.num_layers, num_pages, self.num_heads, page_size, config.head_dim)
        # Zeros, because attention multiplies masked values by zero and must find numbers there.
        self.keys = torch.zeros(shape, dtype=dtype, device=device)
        self.values = torch.zeros(shape, dtype=dtype, device=device)
        self._heads = torch.arange(self.num_heads, device=device)

    def token_index(self, locations: Tensor) -> Tensor:
        """For ``store``: where the heads of tokens at ``locations`` are, int64, shape [tokens * kv_heads]."""
        pages = locations[:, None] // self.page_size
        offsets = locations[:, None] % self.page_size
        return ((pages * self.num_heads + self._heads) * self.page_size + offsets).flatten()

    def page_index(self, pages: Tensor) -> Tensor:
        """For ``gather``: where the heads of pages [rows, pages] are, shape [rows, kv_heads, pages]."""
        return pages[:, None, :] * self.num_heads + self._heads[:, None]

    def store(self, layer: int, index: Tensor, k: Tensor, v: Tensor) -> None:
        """Writes the K and V of new tokens, shape [tokens, kv_heads, head_dim]."""
        for pool, new in ((self.keys, k), (self.values, v)):
            pool[layer].view(-1, new.shape[-1]).index_copy_(0, index, new.reshape(-1, new.shape[-1]))

    def gather(self, layer: int, index: Tensor) -> tuple[Tensor, Tensor]:
        """K and V of whole pages, in order, shape [rows, kv_heads, pages * page_size, head_dim]."""
        rows, heads, _ = index.shape
        # Two dimensions, because only then does the copy go at the speed of memory on a CPU.
        keys, values = (
            pool[layer]
            .flatten(0, 1)
            .flatten(1)
            .index_select(0, index.flatten())
            .view(rows, heads, -1, pool.shape[-1])
            for pool in (self.keys, self.values)
        )
        return keys, values


def kv_bytes_per_token(config: ModelConfig, dtype: torch.dtype) -> int:
    """What one token's K and V take in all layers."""
    return 2 * config.num_layers * config.num_kv_heads * config.head_dim * dtype.itemsize
