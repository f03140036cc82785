"""config.json in its older and newer forms; what is not supported is refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from minisgl_tutor.models.config import FAMILIES, Experts, Rope, load_model_config, parse_model_config
from minisgl_tutor.models.errors import ModelError

LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 128,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}
MOE: dict[str, Any] = {
    "architectures": ["Qwen3MoeForCausalLM"],
    "num_hidden_layers": 4,
    "num_experts": 8,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 24,
}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}


def test_defaults_of_a_short_config() -> None:
    config = parse_model_config(LLAMA)
    assert (config.num_kv_heads, config.head_dim, config.max_positions) == (4, 16, 2048)
    assert config.rope == Rope(10000.0)
    assert not config.tie_embeddings


def test_families_differ_where_they_should() -> None:
    switches = {
        name: (config.qkv_bias, config.qk_norm, config.head_dim)
        for name in FAMILIES
        for config in [parse_model_config({**LLAMA, **MOE, "architectures": [name]})]
    }
    assert switches == {
        "LlamaForCausalLM": (False, False, 16),
        "MistralForCausalLM": (False, False, 16),
        "Qwen2ForCausalLM": (True, False, 16),
        "Qwen3ForCausalLM": (False, True, 128),
        "Qwen3MoeForCausalLM": (False, True, 16),
    }


def test_experts_and_the_layers_that_have_none() -> None:
    assert parse_model_config({**LLAMA, "architectures": ["Qwen3ForCausalLM"]}).experts is None
    found = parse_model_config({**LLAMA, **MOE}).experts
    assert found == Experts(8, 2, 24, normalise=False, dense_layers=frozenset())
    newer = {name: value for name, value in MOE.items() if name != "num_experts"}
    mixed = {**LLAMA, **newer, "num_local_experts": 8, "norm_topk_prob": True, "decoder_sparse_step": 2}
    found = parse_model_config({**mixed, "mlp_only_layers": [3]}).experts
    assert found == Experts(8, 2, 24, normalise=True, dense_layers=frozenset({0, 2, 3}))


@pytest.mark.parametrize(
    ("raw", "window"),
    [
        ({"architectures": ["MistralForCausalLM"], "sliding_window": 100}, 100),
        ({"architectures": ["MistralForCausalLM"], "sliding_window": None}, None),
        ({"architectures": ["MistralForCausalLM"]}, 4096),
        (
            {
                "architectures": ["MistralForCausalLM"],
                "sliding_window": 100,
                "layer_types": ["full_attention"] * 2,
            },
            None,
        ),
        ({"architectures": ["Qwen2ForCausalLM"], "sliding_window": 100}, None),
        ({"architectures": ["Qwen2ForCausalLM"], "sliding_window": 100, "use_sliding_window": True}, 100),
        ({"sliding_window": 100, "layer_types": ["full_attention", "sliding_attention"]}, 100),
        ({}, None),
    ],
)
def test_sliding_windows(raw: dict[str, Any], window: int | None) -> None:
    assert parse_model_config({**LLAMA, **raw}).sliding_window == window


def test_the_model_type_stands_in_for_a_missing_architecture() -> None:
    raw = {**LLAMA, "architectures": None, "model_type": "qwen3"}
    assert parse_model_config(raw).architecture == "Qwen3ForCausalLM"


@pytest.mark.parametrize(
    "rope",
    [
        {"rope_parameters": {**LLAMA3, "rope_theta": 5e5}},
        {"rope_theta": 5e5, "rope_scaling": LLAMA3},
    ],
)
def test_newer_and_older_form_of_rope(rope: dict[str, Any]) -> None:
    assert parse_model_config({**LLAMA, **rope}).rope == Rope(5e5, "llama3", 8.0, 1.0, 4.0, 8192)


def test_the_oldest_form_of_rope() -> None:
    rope = parse_model_config({**LLAMA, "rope_scaling": {"type": "linear", "factor": 2}}).rope
    assert rope == Rope(10000.0, "linear", 2.0)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"architectures": ["MambaForCausalLM"]}, "MambaForCausalLM is not supported; supported are Llama"),
        ({"architectures": None, "model_type": "gpt2"}, "gpt2 is not supported"),
        ({"architectures": None}, "unnamed is not supported"),
        ({"quantization_config": {"quant_method": "awq"}}, r"quantised \(awq\)"),
        ({"hidden_act": "gelu"}, "gelu"),
        ({"attention_bias": True}, "biases in its attention"),
        ({"mlp_bias": True}, "biases in its MLP"),
        ({"use_sliding_window": True}, "does not say how wide"),
        ({"layer_types": ["full_attention", "sliding_attention"]}, "does not say how wide"),
        ({"layer_types": ["full_attention", "linear_attention"]}, r"not supported \(linear_attention\)"),
        ({"use_sliding_window": True, "sliding_window": 0}, "do not fit"),
        ({**MOE, "num_experts_per_tok": 9}, "do not fit"),
        ({**MOE, "moe_intermediate_size": None}, "makes no sense"),
        ({"rope_scaling": {"rope_type": "yarn", "factor": 4}}, r"not supported \(yarn\)"),
        ({"rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.5}}, "not supported"),
        ({"rope_scaling": {"rope_type": "llama3"}}, "lacks 'factor'"),
        ({"hidden_size": None}, "makes no sense"),
        ({"num_attention_heads": 0}, "makes no sense"),
        ({"num_key_value_heads": 3}, "do not fit"),
        ({"head_dim": 15}, "do not fit"),
    ],
)
def test_what_cannot_be_run_is_refused_in_one_sentence(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ModelError, match=sentence) as caught:
        parse_model_config({**LLAMA, **change})
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


def test_a_missing_size_is_named() -> None:
    with pytest.raises(ModelError, match="lacks 'hidden_size'"):
        parse_model_config({name: value for name, value in LLAMA.items() if name != "hidden_size"})


def test_reading_from_a_directory(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"config\.json cannot be read"):
        load_model_config(tmp_path)
    file = tmp_path / "config.json"
    for text, sentence in (
        ("{", "not valid JSON"),
        ("[]", "not hold a JSON object"),
        ("\udcff", "not valid"),
    ):
        file.write_bytes(text.encode("utf-8", "surrogateescape"))
        with pytest.raises(ModelError, match=sentence):
            load_model_config(tmp_path)
    file.write_text(json.dumps(LLAMA))
    assert load_model_config(tmp_path) == parse_model_config(LLAMA)
