"""A small decoder and a checkpoint of it, made without transformers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

RAW: dict[str, Any] = {
    "architectures": ["Qwen3ForCausalLM"],
    "vocab_size": 32,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
}


@pytest.fixture
def decoder() -> Callable[..., Any]:
    """``decoder(dtype, **changes to config.json)``: uninitialised."""
    torch = pytest.importorskip("torch")
    from minisgl_tutor.models.config import parse_model_config
    from minisgl_tutor.models.decoder import Decoder

    def make(dtype: str = "float32", **changes: Any) -> Any:
        config = parse_model_config({**RAW, **changes})
        return Decoder(config, 64, getattr(torch, dtype), torch.device("cpu"))

    return make


@pytest.fixture
def checkpoint(tmp_path: Path, decoder: Callable[..., Any]) -> tuple[Path, dict[str, Any]]:
    """A directory with config.json and two shards, and its tensors."""
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file

    generator = torch.Generator().manual_seed(0)
    tensors = {
        name: torch.randn(place.shape, generator=generator)
        for name, place in decoder().destinations().items()
    }
    (tmp_path / "config.json").write_text(json.dumps(RAW))
    names = sorted(tensors)
    shards = {"model-1.safetensors": names[::2], "model-2.safetensors": names[1::2]}
    for file, part in shards.items():
        save_file({name: tensors[name] for name in part}, tmp_path / file)
    weight_map = {name: file for file, part in shards.items() for name in part}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    return tmp_path, tensors
