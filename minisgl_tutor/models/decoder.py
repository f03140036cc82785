"""The decoder-only transformer of all supported families.

Plain tensors and calls instead of ``nn.Module``: nothing is initialised only to be
overwritten, and ``Decoder.destinations`` says where each tensor of a checkpoint goes.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from ..attention.base import AttentionBackend, AttentionPlan
from .config import ModelConfig
from .linear import Linear
from .rotary import rotary_table, rotate

Destinations = Iterator[tuple[str, Tensor]]


class RMSNorm:
    """Root-mean-square norm, computed in float32."""

    def __init__(self, size: int, eps: float, dtype: torch.dtype, device: torch.device) -> None:
        self.weight = torch.empty(size, dtype=dtype, device=device)
        self.eps = eps

    def __call__(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, (x.shape[-1],), self.weight, self.eps)


class Attention:
    """Self-attention with grouped K/V heads; the family decides on biases and on norms of Q and K."""

    def __init__(self, config: ModelConfig, layer: int, dtype: torch.dtype, device: torch.device) -> None:
        self.layer = layer
        self.head_dim = config.head_dim
        self.heads = [config.num_heads, config.num_kv_heads, config.num_kv_heads]
        width = sum(self.heads) * config.head_dim
        self.qkv = Linear(config.hidden_size, width, config.qkv_bias, dtype, device)
        self.out = Linear(config.num_heads * config.head_dim, config.hidden_size, False, dtype, device)
        self.q_norm = RMSNorm(config.head_dim, config.norm_eps, dtype, device) if config.qk_norm else None
        self.k_norm = RMSNorm(config.head_dim, config.norm_eps, dtype, device) if config.qk_norm else None

    def __call__(self, x: Tensor, cos_sin: Tensor, backend: AttentionBackend, plan: AttentionPlan) -> Tensor:
        qkv = self.qkv(x).view(len(x), -1, self.head_dim)
        if self.q_norm and self.k_norm:
            q, k, v = torch.split(qkv, self.heads, dim=1)
            q, k = rotate(self.q_norm(q), cos_sin), rotate(self.k_norm(k), cos_sin)
        else:
            # Q and K turn alike, so they turn together.
            qk, v = torch.split(qkv, [sum(self.heads[:2]), self.heads[2]], dim=1)
            q, k = torch.split(rotate(qk, cos_sin), self.heads[:2], dim=1)
        return self.out(backend.forward(q, k, v, self.layer, plan).reshape(len(x), -1))

    def destinations(self, prefix: str) -> Destinations:
        sizes = [heads * self.head_dim for heads in self.heads]
        for name, weight in zip("qkv", torch.split(self.qkv.weight, sizes), strict=True):
            yield f"{prefix}.{name}_proj.weight", weight
        if self.qkv.bias is not None:
            for name, bias in zip("qkv", torch.split(self.qkv.bias, sizes), strict=True):
                yield f"{prefix}.{name}_proj.bias", bias
        yield f"{prefix}.o_proj.weight", self.out.weight
        if self.q_norm and self.k_norm:
            yield f"{prefix}.q_norm.weight", self.q_norm.weight
            yield f"{prefix}.k_norm.weight", self.k_norm.weight


class MLP:
    """The gated feed-forward half of a layer."""

    def __init__(self, config: ModelConfig, dtype: torch.dtype, device: torch.device) -> None:
        self.gate_up = Linear(config.hidden_size, 2 * config.intermediate_size, False, dtype, device)
        self.down = Linear(config.intermediate_size, config.hidden_size, False, dtype, device)

    def __call__(self, x: Tensor) -> Tensor:
        gate, up = self.gate_up(x).chunk(2, dim=-1)
        return self.down(F.silu(gate) * up)

    def destinations(self, prefix: str) -> Destinations:
        gate, up = self.gate_up.weight.chunk(2)
        yield f"{prefix}.gate_proj.weight", gate
        yield f"{prefix}.up_proj.weight", up
        yield f"{prefix}.down_proj.weight", self.down.weight


class DecoderLayer:
    """Attention and MLP, each behind a norm and added to the stream."""

    def __init__(self, config: ModelConfig, layer: int, dtype: torch.dtype, device: torch.device) -> None:
        self.attention_norm = RMSNorm(config.hidden_size, config.norm_eps, dtype, device)
        self.attention = Attention(config, layer, dtype, device)
        self.mlp_norm = RMSNorm(config.hidden_size, config.norm_eps, dtype, device)
        self.mlp = MLP(config, dtype, device)

    def __call__(self, x: Tensor, cos_sin: Tensor, backend: AttentionBackend, plan: AttentionPlan) -> Tensor:
        x = x + self.attention(self.attention_norm(x), cos_sin, backend, plan)
        return x + self.mlp(self.mlp_norm(x))

    def destinations(self, prefix: str) -> Destinations:
        yield f"{prefix}.input_layernorm.weight", self.attention_norm.weight
        yield from self.attention.destinations(f"{prefix}.self_attn")
        yield f"{prefix}.post_attention_layernorm.weight", self.mlp_norm.weight
        yield from self.mlp.destinations(f"{prefix}.mlp")


class Decoder:
    """Tokens and positions in, scores over the vocabulary out.

    Its tensors are uninitialised until each of ``destinations`` has been written
    and ``freeze`` called. ``max_positions`` bounds the positions that can occur.
    """

    def __init__(
        self, config: ModelConfig, max_positions: int, dtype: torch.dtype, device: torch.device
    ) -> None:
        self.config = config
        self.embedding = torch.empty(config.vocab_size, config.hidden_size, dtype=dtype, device=device)
        self.layers = [DecoderLayer(config, layer, dtype, device) for layer in range(config.num_layers)]
        self.norm = RMSNorm(config.hidden_size, config.norm_eps, dtype, device)
        self.head = Linear(config.hidden_size, config.vocab_size, False, dtype, device)
        if config.tie_embeddings:
            self.head.weight = self.embedding
        self.rotary = rotary_table(config.rope, config.head_dim, max_positions, device)

    def destinations(self) -> dict[str, Tensor]:
        """The place of each tensor of a Hugging Face checkpoint, by its name there."""
        places = {"model.embed_tokens.weight": self.embedding, "model.norm.weight": self.norm.weight}
        for index, layer in enumerate(self.layers):
            places.update(layer.destinations(f"model.layers.{index}"))
        if not self.config.tie_embeddings:
            places["lm_head.weight"] = self.head.weight
        return places

    def freeze(self) -> None:
        """To be called once all weights are in their place: they may be laid out for speed now."""
        for layer in self.layers:
            for linear in (layer.attention.qkv, layer.attention.out, layer.mlp.gate_up, layer.mlp.down):
                linear.freeze()
        self.head.freeze()

    def forward(
        self,
        input_ids: Tensor,
        positions: Tensor,
        backend: AttentionBackend,
        plan: AttentionPlan,
        emitting: Tensor,
    ) -> Tensor:
        """Scores of the token after each of ``emitting`` (C2.91, C2.93).

        ``input_ids`` and ``positions`` are int64, shape [tokens]; ``emitting`` holds
        indices into them. Writes the tokens' K and V through ``backend``. The result
        has the model's type and shape [emitting, vocab].
        """
        x = F.embedding(input_ids, self.embedding)
        cos_sin = self.rotary[positions]
        for layer in self.layers:
            x = layer(x, cos_sin, backend, plan)
        return self.head(self.norm(x[emitting]))
