"""The K/V pool: memory for the keys and values of all tokens, in pages."""

from __future__ import annotations

import torch
from torch import Tensor

from ..models.config import ModelConfig

FP8 = torch.float8_e4m3fn
"""One sign, four exponent and three fraction bits: 16 significant steps from one power of two to the next."""

LARGEST_FP8 = 448.0


class KVCache:
    """Keys and values, each of shape [layers, num_pages, kv_heads, page_size, head_dim].

    A token's location is ``page * page_size + offset``. Inside a page each head has
    its tokens side by side, so that gathered pages are a head's sequence in one piece.

    ``dtype`` is the type that attention computes in. ``stored`` is that of the pool:
    the same, or ``FP8``, which takes half of a 16-bit one's memory. Values are not
    scaled for it; those beyond ``LARGEST_FP8`` are cut off there.
    """

    def __init__(
        self,
        config: ModelConfig,
        num_pages: int,
        page_size: int,
        dtype: torch.dtype,
        device: torch.device,
        stored: torch.dtype | None = None,
    ) -> None:
        self.page_size = page_size
        self.num_heads = config.num_kv_heads
        self.dtype = dtype
        self.stored = stored or dtype
        shape = (config.num_layers, num_pages, self.num_heads, page_size, config.head_dim)
        # Zeros, because attention multiplies masked values by zero and must find numbers there.
        self.keys = torch.zeros(shape, dtype=self.stored, device=device)
        self.values = torch.zeros(shape, dtype=self.stored, device=device)
        # The number of each of the 256 codes.
        codes = torch.arange(256, dtype=torch.uint8, device=device)
        self._numbers = codes.view(FP8).to(dtype)
        self._heads = torch.arange(self.num_heads, device=device)

    def token_index(self, locations: Tensor) -> Tensor:
        """For ``store``: where the heads of tokens at ``locations`` are, int64, shape [tokens * kv_heads]."""
        pages = locations[:, None] // self.page_size
        offsets = locations[:, None] % self.page_size
        return ((pages * self.num_heads + self._heads) * self.page_size + offsets).flatten()

    def page_index(self, pages: Tensor) -> Tensor:
        """For ``gather``: where the heads of pages [rows, pages] are, shape [rows, kv_heads, pages]."""
        return pages[:, None, :] * self.num_heads + self._heads[:, None]

    def store(self, layer: int, index: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Writes the K and V of new tokens, shape [tokens, kv_heads, head_dim].

        Gives them back as ``gather`` will, so that who attends to them at once sees what others see later.
        """
        return self._store(self.keys[layer], index, k), self._store(self.values[layer], index, v)

    def gather(self, layer: int, index: Tensor) -> tuple[Tensor, Tensor]:
        """K and V of whole pages, in order, shape [rows, kv_heads, pages * page_size, head_dim]."""
        return self._gather(self.keys[layer], index), self._gather(self.values[layer], index)

    def _gather(self, pool: Tensor, index: Tensor) -> Tensor:
        rows, heads, _ = index.shape
        # Two dimensions, because only then does the copy go at the speed of memory on a CPU.
        pages = pool.flatten(0, 1).flatten(1)
        if self.stored == self.dtype:
            return pages.index_select(0, index.flatten()).view(rows, heads, -1, pool.shape[-1])
        codes = pages.view(torch.uint8).index_select(0, index.flatten())
        # Looked up, because a CPU takes five times as long to convert them one by one.
        found = self._numbers.index_select(0, codes.flatten().int())
        return found.view(rows, heads, -1, pool.shape[-1])

    def _store(self, pool: Tensor, index: Tensor, new: Tensor) -> Tensor:
        rows = new.reshape(-1, new.shape[-1])
        if self.stored == self.dtype:
            pool.view(-1, new.shape[-1]).index_copy_(0, index, rows)
            return new
        rounded = rows.clamp(-LARGEST_FP8, LARGEST_FP8).to(self.stored)
        # As bytes, because not every operation knows the type.
        pool.view(torch.uint8).view(-1, new.shape[-1]).index_copy_(0, index, rounded.view(torch.uint8))
        return rounded.to(self.dtype).view(new.shape)


def stored_type(kv_cache_dtype: str, dtype: torch.dtype) -> torch.dtype:
    """The pool's type by its name: "fp8", or "auto" for the type that the model computes in."""
    return FP8 if kv_cache_dtype == "fp8" else dtype


def kv_bytes_per_token(config: ModelConfig, stored: torch.dtype) -> int:
    """What one token's K and V take in all layers."""
    return 2 * config.num_layers * config.num_kv_heads * config.head_dim * stored.itemsize
