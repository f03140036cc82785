"""The mixture of experts against the formula: each token through each of its experts, one by one."""

from __future__ import annotations

import os
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from minisgl_tutor.distributed.group import Alone  # noqa: E402
from minisgl_tutor.models.config import Experts, parse_model_config  # noqa: E402
from minisgl_tutor.models.moe import MoE, route  # noqa: E402
from minisgl_tutor.models.ops import TorchOps  # noqa: E402
from minisgl_tutor.models.shard import Shard  # noqa: E402

RAW: dict[str, Any] = {
    "vocab_size": 32,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
HIDDEN, WIDTH = 48, 40
ON_GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda" if ON_GPU else "cpu")
WITH_TRITON = pytest.mark.skipif(
    not ON_GPU and os.environ.get("TRITON_INTERPRET") != "1", reason="needs a GPU or Triton's interpreter"
)


def draw(*shape: int, dtype: Any = torch.float32) -> Any:
    return torch.randn(shape, dtype=dtype, device=DEVICE) / shape[-1] ** 0.5


def expected(x: Any, gate_up: Any, down: Any, chosen: Any, shares: Any) -> Any:
    out = torch.zeros(x.shape, dtype=torch.float64, device=x.device)
    for token, (experts, parts) in enumerate(zip(chosen.tolist(), shares.double(), strict=True)):
        for expert, share in zip(experts, parts, strict=True):
            gate, up = (gate_up[expert].double() @ x[token].double()).chunk(2)
            out[token] += share * (down[expert].double() @ (torch.nn.functional.silu(gate) * up))
    return out


def check(ops: Any, tokens: int, experts: int, per_token: int, dtype: Any = torch.float32) -> None:
    torch.manual_seed(tokens)
    x = draw(tokens, HIDDEN, dtype=dtype) * HIDDEN**0.5
    gate_up, down = draw(experts, 2 * WIDTH, HIDDEN, dtype=dtype), draw(experts, HIDDEN, WIDTH, dtype=dtype)
    # Unevenly: most tokens choose the first experts, and some experts get nothing.
    scores = torch.randn(tokens, experts, device=DEVICE) - torch.arange(experts, device=DEVICE) / 4
    chosen, shares = route(scores, Experts(experts, per_token, WIDTH, True, frozenset()))
    found = ops.mix(x, gate_up, down, chosen, shares.to(dtype))
    right = expected(x, gate_up, down, chosen, shares.to(dtype))
    assert found.dtype == dtype
    error = (found.double() - right).norm() / right.norm().clamp(min=1e-9)
    assert error < (1e-5 if dtype == torch.float32 else 1e-2)


@pytest.mark.parametrize(("tokens", "experts", "per_token"), [(1, 4, 1), (5, 8, 3), (33, 6, 6), (70, 3, 2)])
def test_expert_by_expert(tokens: int, experts: int, per_token: int) -> None:
    check(TorchOps(), tokens, experts, per_token)


@WITH_TRITON
@pytest.mark.parametrize(
    ("tokens", "experts", "per_token"), [(1, 4, 1), (5, 8, 3), (33, 6, 6), (150, 5, 2), (300, 3, 2)]
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16] if ON_GPU else [torch.float32])
def test_all_experts_in_two_launches(tokens: int, experts: int, per_token: int, dtype: Any) -> None:
    pytest.importorskip("triton")
    from minisgl_tutor.models.triton_ops import TritonOps

    check(TritonOps(), tokens, experts, per_token, dtype)


def test_no_token_goes_nowhere() -> None:
    ops, none = TorchOps(), torch.empty(0, 2, dtype=torch.int64)
    out = ops.mix(torch.empty(0, 4), torch.empty(3, 4, 4), torch.empty(3, 4, 2), none, torch.empty(0, 2))
    assert out.shape == (0, 4)


@pytest.mark.parametrize("normalise", [True, False])
def test_shares_are_of_a_softmax_over_all(normalise: bool) -> None:
    scores = torch.tensor([[0.0, 2.0, 1.0, -1.0], [3.0, 3.5, 0.0, 0.0]])
    chosen, shares = route(scores, Experts(4, 2, 8, normalise, frozenset()))
    assert chosen.tolist() == [[1, 2], [1, 0]]
    parts = scores.softmax(-1)
    right = torch.stack([parts[0, [1, 2]], parts[1, [1, 0]]])
    if normalise:
        right = right / right.sum(-1, keepdim=True)
    torch.testing.assert_close(shares, right)


def test_shares_have_the_type_of_the_scores() -> None:
    shares = route(torch.randn(3, 4).bfloat16(), Experts(4, 2, 8, True, frozenset()))[1]
    assert shares.dtype == torch.bfloat16


def test_ranks_have_a_part_of_each_expert() -> None:
    """The sum of what all ranks compute is what one computes alone."""
    raw = {**RAW, "architectures": ["Qwen3MoeForCausalLM"], "num_experts": 5, "num_experts_per_tok": 2}
    config = parse_model_config({**raw, "moe_intermediate_size": 10})
    generator = torch.Generator().manual_seed(0)

    def make(shard: Shard) -> MoE:
        experts = shard.local.experts
        assert experts is not None
        return MoE(config.hidden_size, experts, torch.float32, torch.device("cpu"), TorchOps(), Alone())

    alone = make(Shard(config))
    whole = dict(alone.destinations("mlp"))
    for weight in whole.values():
        weight.normal_(generator=generator)
    x = torch.randn(7, config.hidden_size, generator=generator)
    parts = []
    for rank in range(2):
        shard = Shard(config, rank, 2)
        moe = make(shard)
        for name, place in moe.destinations("mlp"):
            part = shard.part(name, whole[name].shape)
            place.copy_(whole[name] if part is None else part.of(whole[name]))
        parts.append(moe(x))
    torch.testing.assert_close(parts[0] + parts[1], alone(x))
