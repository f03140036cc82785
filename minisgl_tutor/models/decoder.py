"""The decoder-only transformer of all supported families.

Plain tensors and calls instead of ``nn.Module``: nothing is initialised only to be
overwritten, and ``Decoder.destinations`` says where each tensor of a checkpoint goes.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from ..attention.base import Attends, AttentionPlan
from ..distributed.group import Alone, Group
from .config import ModelConfig
from .linear import Linear, RowParallelLinear, VocabEmbedding
from .moe import MoE
from .ops import Ops, TorchOps
from .rotary import rotary_table
from .shard import Shard

Destinations = Iterator[tuple[str, Tensor]]


class Attention:
    """Self-attention with grouped K/V heads; the family decides on biases and on norms of Q and K.

    Here and in ``MLP`` the sizes in ``config`` are this rank's, and results are those of all ranks.
    """

    def __init__(
        self,
        config: ModelConfig,
        layer: int,
        dtype: torch.dtype,
        device: torch.device,
        ops: Ops,
        group: Group,
    ) -> None:
        self.layer = layer
        self.ops = ops
        self.head_dim = config.head_dim
        self.eps = config.norm_eps
        self.heads = [config.num_heads, config.num_kv_heads, config.num_kv_heads]
        width = sum(self.heads) * config.head_dim
        self.qkv = Linear(config.hidden_size, width, config.qkv_bias, dtype, device)
        inner = config.num_heads * config.head_dim
        self.out = RowParallelLinear(inner, config.hidden_size, dtype, device, group)
        self.qk_norms: tuple[Tensor, Tensor] | None = None
        if config.qk_norm:
            q_norm, k_norm = torch.empty(2, config.head_dim, dtype=dtype, device=device)
            self.qk_norms = (q_norm, k_norm)

    def __call__(self, x: Tensor, angles: Tensor, backend: Attends, plan: AttentionPlan) -> Tensor:
        qkv = self.qkv(x).view(len(x), -1, self.head_dim)
        sink = backend.sink(self.layer, plan)
        q, k, v = self.ops.turn(qkv, self.heads, self.qk_norms, self.eps, angles, sink)
        return self.out(backend.forward(q, k, v, self.layer, plan).reshape(len(x), -1))

    def destinations(self, prefix: str) -> Destinations:
        sizes = [heads * self.head_dim for heads in self.heads]
        for name, weight in zip("qkv", torch.split(self.qkv.weight, sizes), strict=True):
            yield f"{prefix}.{name}_proj.weight", weight
        if self.qkv.bias is not None:
            for name, bias in zip("qkv", torch.split(self.qkv.bias, sizes), strict=True):
                yield f"{prefix}.{name}_proj.bias", bias
        yield f"{prefix}.o_proj.weight", self.out.weight
        if self.qk_norms is not None:
            yield f"{prefix}.q_norm.weight", self.qk_norms[0]
            yield f"{prefix}.k_norm.weight", self.qk_norms[1]


class MLP:
    """The gated feed-forward half of a layer."""

    def __init__(
        self, config: ModelConfig, dtype: torch.dtype, device: torch.device, ops: Ops, group: Group
    ) -> None:
        self.ops = ops
        self.gate_up = Linear(config.hidden_size, 2 * config.intermediate_size, False, dtype, device)
        self.down = RowParallelLinear(config.intermediate_size, config.hidden_size, dtype, device, group)

    def __call__(self, x: Tensor) -> Tensor:
        return self.down(self.ops.gated(x, self.gate_up))

    def freeze(self) -> None:
        self.gate_up.freeze()
        self.down.freeze()

    def destinations(self, prefix: str) -> Destinations:
        gate, up = self.gate_up.weight.chunk(2)
        yield f"{prefix}.gate_proj.weight", gate
        yield f"{prefix}.up_proj.weight", up
        yield f"{prefix}.down_proj.weight", self.down.weight


class DecoderLayer:
    """Attention and MLP, each behind a norm and added to the stream."""

    def __init__(
        self,
        config: ModelConfig,
        layer: int,
        dtype: torch.dtype,
        device: torch.device,
        ops: Ops,
        group: Group,
    ) -> None:
        self.ops = ops
        self.eps = config.norm_eps
        self.attention_norm = torch.empty(config.hidden_size, dtype=dtype, device=device)
        self.attention = Attention(config, layer, dtype, device, ops, group)
        self.mlp_norm = torch.empty(config.hidden_size, dtype=dtype, device=device)
        self.mlp: MLP | MoE
        if config.experts is not None and layer not in config.experts.dense_layers:
            self.mlp = MoE(config.hidden_size, config.experts, dtype, device, ops, group)
        else:
            self.mlp = MLP(config, dtype, device, ops, group)

    def __call__(
        self, x: Tensor, stream: Tensor | None, angles: Tensor, backend: Attends, plan: AttentionPlan
    ) -> tuple[Tensor, Tensor]:
        """Takes what the layer before adds to the stream (the first: the stream); gives the same of its own.

        Sum and norm are one operation this way, which is one trip to memory instead of two.
        """
        if stream is None:
            x, stream = self.ops.norm(x, self.attention_norm, self.eps), x
        else:
            x, stream = self.ops.add_norm(x, stream, self.attention_norm, self.eps)
        x = self.attention(x, angles, backend, plan)
        x, stream = self.ops.add_norm(x, stream, self.mlp_norm, self.eps)
        return self.mlp(x), stream

    def destinations(self, prefix: str) -> Destinations:
        yield f"{prefix}.input_layernorm.weight", self.attention_norm
        yield from self.attention.destinations(f"{prefix}.self_attn")
        yield f"{prefix}.post_attention_layernorm.weight", self.mlp_norm
        yield from self.mlp.destinations(f"{prefix}.mlp")


class Decoder:
    """Tokens and positions in, scores over the vocabulary out.

    Its tensors are uninitialised until each of ``destinations`` has been written
    and ``freeze`` called. ``max_positions`` bounds the positions that can occur.
    Of several ranks, ``group``, each has a ``shard`` of the model; all give the same scores.

    Raises:
        ModelError: the model cannot be divided among so many ranks.
    """

    def __init__(
        self,
        config: ModelConfig,
        max_positions: int,
        dtype: torch.dtype,
        device: torch.device,
        ops: Ops | None = None,
        group: Group | None = None,
    ) -> None:
        self.config = config
        self.ops = ops or TorchOps()
        self.group = group or Alone()
        self.shard = Shard(config, self.group.rank, self.group.size)
        self.embedding = VocabEmbedding(self.shard, config.hidden_size, dtype, device, self.group)
        self.layers = [
            DecoderLayer(self.shard.local, layer, dtype, device, self.ops, self.group)
            for layer in range(config.num_layers)
        ]
        self.norm = torch.empty(config.hidden_size, dtype=dtype, device=device)
        self.head = Linear(config.hidden_size, self.shard.vocab_rows, False, dtype, device)
        if config.tie_embeddings:
            self.head.weight = self.embedding.weight
        self.rotary = rotary_table(config.rope, config.head_dim, max_positions, device)

    def destinations(self) -> dict[str, Tensor]:
        """The place of each tensor of a Hugging Face checkpoint, or of this rank's part, by its name."""
        vocab = self.shard.vocab[1] - self.shard.vocab[0]
        places = {"model.embed_tokens.weight": self.embedding.weight[:vocab], "model.norm.weight": self.norm}
        for index, layer in enumerate(self.layers):
            places.update(layer.destinations(f"model.layers.{index}"))
        if not self.config.tie_embeddings:
            places["lm_head.weight"] = self.head.weight[:vocab]
        return places

    def freeze(self) -> None:
        """To be called once all weights are in their place: they may be laid out for speed now."""
        for layer in self.layers:
            layer.attention.qkv.freeze()
            layer.attention.out.freeze()
            layer.mlp.freeze()
        self.head.freeze()

    def forward(
        self,
        input_ids: Tensor,
        positions: Tensor,
        backend: Attends,
        plan: AttentionPlan,
        emitting: Tensor | None,
    ) -> Tensor:
        """Scores of the token after each of ``emitting`` (C2.91, C2.93).

        ``input_ids`` and ``positions`` are int64, shape [tokens]; ``emitting`` holds
        indices into them, ``None`` stands for all. Writes the tokens' K and V through
        ``backend``. The result has the model's type and shape [emitting, vocab].
        """
        x, stream = self.embedding(input_ids), None
        angles = self.rotary[positions]
        for layer in self.layers:
            x, stream = layer(x, stream, angles, backend, plan)
        assert stream is not None
        if emitting is not None:
            x, stream = x[emitting], stream[emitting]
        scores = self.head(self.ops.add_norm(x, stream, self.norm, self.config.norm_eps)[0])
        return self.group.all_gather(scores)[:, : self.config.vocab_size].contiguous()
