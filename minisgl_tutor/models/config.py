"""What a decoder is made of, read from a Hugging Face ``config.json``. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..language import Sentence
from .directory import read_json
from .errors import ModelError


@dataclass(frozen=True)
class Family:
    """How one architecture differs from the others, and what its configuration leaves unsaid."""

    model_type: str
    qkv_bias: bool
    qk_norm: bool
    default_head_dim: int | None = None


FAMILIES: Mapping[str, Family] = {
    "LlamaForCausalLM": Family("llama", qkv_bias=False, qk_norm=False),
    "MistralForCausalLM": Family("mistral", qkv_bias=False, qk_norm=False),
    "Qwen2ForCausalLM": Family("qwen2", qkv_bias=True, qk_norm=False),
    "Qwen3ForCausalLM": Family("qwen3", qkv_bias=False, qk_norm=True, default_head_dim=128),
    "Qwen3MoeForCausalLM": Family("qwen3_moe", qkv_bias=False, qk_norm=True),
}

MISTRAL_WINDOW = 4096
"""What a Mistral without a word about its window means."""


@dataclass(frozen=True)
class Rope:
    """Rotary positions. ``scaling`` is ``None`` or the values of the "linear" or "llama3" kind."""

    theta: float
    kind: str = "default"
    factor: float = 1.0
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    original_max_positions: int = 8192


@dataclass(frozen=True)
class Experts:
    """What a sparse layer has in place of one MLP: ``count`` MLPs of inner width ``width``.

    Each token goes through ``chosen`` of them; ``normalise`` scales their shares to
    add up to one. ``dense_layers`` have one MLP all the same.
    """

    count: int
    chosen: int
    width: int
    normalise: bool
    dense_layers: frozenset[int]


@dataclass(frozen=True)
class ModelConfig:
    """Sizes and switches of a decoder-only model.

    With a ``sliding_window`` some layers see only so many tokens back. Nothing here
    computes that, so no sequence may be longer: up to there it is the same.
    """

    architecture: str
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    norm_eps: float
    rope: Rope
    max_positions: int
    tie_embeddings: bool
    qkv_bias: bool
    qk_norm: bool
    experts: Experts | None = None
    sliding_window: int | None = None


def load_model_config(model_dir: Path) -> ModelConfig:
    """The configuration of the model in a directory.

    Raises:
        ModelError: it is unreadable, or asks for something that is not supported; the sentence names it.
    """
    return parse_model_config(read_json(model_dir / "config.json"))


def parse_model_config(raw: Mapping[str, Any]) -> ModelConfig:
    """As ``load_model_config``, from a parsed ``config.json``, older or newer (``rope_parameters``) form."""
    architecture, family = _family(raw)
    _refuse_unsupported(architecture, raw)
    try:
        hidden_size, num_heads = int(raw["hidden_size"]), int(raw["num_attention_heads"])
        config = ModelConfig(
            architecture=architecture,
            vocab_size=int(raw["vocab_size"]),
            hidden_size=hidden_size,
            intermediate_size=int(raw["intermediate_size"]),
            num_layers=int(raw["num_hidden_layers"]),
            num_heads=num_heads,
            num_kv_heads=int(raw.get("num_key_value_heads") or num_heads),
            head_dim=int(raw.get("head_dim") or family.default_head_dim or hidden_size // num_heads),
            norm_eps=float(raw.get("rms_norm_eps", 1e-6)),
            rope=_rope(architecture, raw),
            max_positions=int(raw.get("max_position_embeddings", 2048)),
            tie_embeddings=bool(raw.get("tie_word_embeddings", False)),
            qkv_bias=family.qkv_bias,
            qk_norm=family.qk_norm,
            experts=_experts(raw) if family.model_type == "qwen3_moe" else None,
            sliding_window=_sliding_window(architecture, raw),
        )
    except KeyError as error:
        raise ModelError(
            Sentence("The model's config.json lacks {reason}; download the model again.", reason=str(error))
        ) from None
    except (TypeError, ValueError, ZeroDivisionError) as error:
        raise ModelError(
            Sentence(
                "The model's config.json holds a value that makes no sense ({reason}).", reason=str(error)
            )
        ) from None
    _check_sizes(config)
    return config


def check_ranks(config: ModelConfig, tp: int) -> None:
    """Whether ``tp`` ranks can share the model.

    Raises:
        ModelError: they cannot, as each needs as many attention heads as any other.
    """
    if config.num_heads % tp:
        fitting = [n for n in range(1, config.num_heads + 1) if config.num_heads % n == 0]
        raise ModelError(
            Sentence(
                "--tp {tp} does not divide the model's {heads} attention heads; give one of {listed}.",
                tp=tp,
                heads=config.num_heads,
                listed=", ".join(map(str, fitting)),
            )
        )


def _family(raw: Mapping[str, Any]) -> tuple[str, Family]:
    names = raw.get("architectures") or [
        name for name, family in FAMILIES.items() if family.model_type == raw.get("model_type")
    ]
    for name in names:
        if name in FAMILIES:
            return name, FAMILIES[name]
    found = ", ".join(map(str, names)) or str(raw.get("model_type", "unnamed"))
    raise ModelError(
        Sentence(
            "The model architecture {found} is not supported; supported are {listed}.",
            found=found,
            listed=", ".join(FAMILIES),
        )
    )


def _refuse_unsupported(architecture: str, raw: Mapping[str, Any]) -> None:
    """A feature that would be ignored would give wrong text, so it is refused."""
    problem = None
    if raw.get("quantization_config"):
        method = raw["quantization_config"].get("quant_method", "unknown")
        problem = Sentence("is quantised ({method}); take the bf16 weights or a GGUF file", method=method)
    elif raw.get("hidden_act", "silu") != "silu":
        problem = Sentence("uses the activation {name}; only silu is supported", name=raw["hidden_act"])
    elif architecture != "Qwen2ForCausalLM" and raw.get("attention_bias"):
        problem = Sentence("has biases in its attention, which is not supported")
    elif raw.get("mlp_bias"):
        problem = Sentence("has biases in its MLP, which is not supported")
    elif other := set(raw.get("layer_types") or []) - {"full_attention", "sliding_attention"}:
        kinds = ", ".join(sorted(other))
        problem = Sentence("has layers of a kind that is not supported ({kinds})", kinds=kinds)
    if problem:
        raise ModelError(
            Sentence("This {architecture} {problem}.", architecture=architecture, problem=problem)
        )


def _sliding_window(architecture: str, raw: Mapping[str, Any]) -> int | None:
    kinds = raw.get("layer_types")
    if architecture == "MistralForCausalLM":
        slides = kinds is None or "sliding_attention" in kinds
        window = raw.get("sliding_window", MISTRAL_WINDOW)
    else:
        slides = bool(raw.get("use_sliding_window")) if kinds is None else "sliding_attention" in kinds
        window = raw.get("sliding_window")
        if slides and window is None:
            raise ModelError(
                Sentence(
                    "This {architecture} uses sliding-window attention but does not say how wide.",
                    architecture=architecture,
                )
            )
    return int(window) if slides and window is not None else None


def _experts(raw: Mapping[str, Any]) -> Experts:
    layers, step = int(raw["num_hidden_layers"]), int(raw.get("decoder_sparse_step", 1))
    named = {int(layer) for layer in raw.get("mlp_only_layers") or []}
    return Experts(
        count=int(raw["num_local_experts"] if "num_local_experts" in raw else raw["num_experts"]),
        chosen=int(raw["num_experts_per_tok"]),
        width=int(raw["moe_intermediate_size"]),
        normalise=bool(raw.get("norm_topk_prob", False)),
        dense_layers=frozenset(layer for layer in range(layers) if layer in named or (layer + 1) % step != 0),
    )


def _rope(architecture: str, raw: Mapping[str, Any]) -> Rope:
    values = dict(raw.get("rope_parameters") or raw.get("rope_scaling") or {})
    kind = values.get("rope_type", values.get("type", "default"))
    if kind not in ("default", "linear", "llama3") or values.get("partial_rotary_factor", 1.0) != 1.0:
        raise ModelError(
            Sentence(
                "This {architecture} scales its rotary positions in a way that is not supported "
                "({kind}); supported are default, linear and llama3.",
                architecture=architecture,
                kind=kind,
            )
        )
    theta = float(values.get("rope_theta", raw.get("rope_theta", 10000.0)))
    if kind == "default":
        return Rope(theta)
    if kind == "linear":
        return Rope(theta, kind, factor=float(values["factor"]))
    return Rope(
        theta,
        kind,
        factor=float(values["factor"]),
        low_freq_factor=float(values["low_freq_factor"]),
        high_freq_factor=float(values["high_freq_factor"]),
        original_max_positions=int(values["original_max_position_embeddings"]),
    )


def _check_sizes(config: ModelConfig) -> None:
    sizes = (
        config.vocab_size,
        config.hidden_size,
        config.intermediate_size,
        config.num_layers,
        config.num_heads,
        config.num_kv_heads,
        config.head_dim,
        config.max_positions,
    )
    unfit = min(sizes) < 1 or config.num_heads % config.num_kv_heads or config.head_dim % 2
    if config.experts is not None:
        unfit = unfit or config.experts.width < 1 or not 1 <= config.experts.chosen <= config.experts.count
    if unfit or (config.sliding_window is not None and config.sliding_window < 1):
        raise ModelError(Sentence("The sizes in the model's config.json do not fit together."))
