"""GGUF files: converted once into a model directory in Hugging Face's layout, and kept in the user's cache.

Configuration and tokenizer are read by transformers. The weights are unpacked
tensor by tensor into one safetensors file. Only ``converted`` is meant for
others; it imports torch and transformers when there is something to convert.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..language import Sentence
from .config import FAMILIES, ModelConfig, Rope, parse_model_config
from .errors import ModelError

if TYPE_CHECKING:
    from torch import Tensor

LAYOUT_VERSION = 1
"""Counts up when a conversion would come out differently, so that older ones are not used."""

MODEL_TENSORS = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
}
LAYER_TENSORS = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
ROPE_FACTORS = "rope_freqs.weight"


def converted(gguf_file: Path, dtype: str, cache: Path) -> Path:
    """The directory below ``cache`` that holds the file's model with its weights in ``dtype``.

    Found by the file's content, so a renamed or copied file is not converted again.
    It appears under its name only when complete; several processes may ask at once.

    Raises:
        ModelError: the file is damaged, or of a kind that is not supported.
    """
    try:
        from filelock import FileLock
    except ImportError:
        raise _needs_extra(gguf_file) from None
    name = f"{gguf_file.stem}-{dtype}-v{LAYOUT_VERSION}-{_digest(gguf_file)}"
    target = cache / name
    if target.is_dir():
        return target
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(cache / f"{name}.lock"):
        if not target.is_dir():
            partial = Path(tempfile.mkdtemp(prefix=f"{name}.", dir=cache))
            try:
                _convert(gguf_file, dtype, partial)
                partial.rename(target)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
    return target


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def _needs_extra(gguf_file: Path) -> ModelError:
    return ModelError(
        Sentence(
            "Reading {gguf_file} needs more packages; `minisgl-tutor doctor` says which.", gguf_file=gguf_file
        )
    )


def _convert(gguf_file: Path, dtype: str, directory: Path) -> None:
    try:
        import gguf
        from transformers import AutoConfig, AutoTokenizer
    except ImportError:
        raise _needs_extra(gguf_file) from None
    where = {"pretrained_model_name_or_path": str(gguf_file.parent), "gguf_file": gguf_file.name}
    try:
        reader = gguf.GGUFReader(gguf_file)
        hf_config = AutoConfig.from_pretrained(**where)
        tokenizer = AutoTokenizer.from_pretrained(**where)
    except Exception as error:  # The readers fail on damaged files in many ways.
        raise _unreadable(gguf_file, error) from None
    hf_config.architectures = [_architecture(hf_config.model_type)]
    hf_config.tie_word_embeddings = not any(tensor.name == "output.weight" for tensor in reader.tensors)
    config = parse_model_config(hf_config.to_dict())
    if config.experts is not None:
        raise ModelError(
            Sentence(
                "{gguf_file} holds a mixture of experts, which can be read from safetensors files only; "
                "give the model's directory or hub id.",
                gguf_file=gguf_file,
            )
        )
    rope = _rope_scaling(reader, config)
    if rope is not None:
        hf_config.rope_parameters = rope
        config = parse_model_config(hf_config.to_dict())
    _save_weights(reader, config, dtype, gguf_file, directory / "model.safetensors")
    hf_config.dtype = dtype
    hf_config.save_pretrained(directory)
    tokenizer.save_pretrained(directory, save_jinja_files=False)
    _save_generation_config(tokenizer, directory)


def _architecture(model_type: str) -> str:
    for name, family in FAMILIES.items():
        if family.model_type == model_type:
            return name
    supported = ", ".join(family.model_type for family in FAMILIES.values())
    raise ModelError(
        Sentence(
            "The GGUF architecture {model_type} is not supported; supported are {supported}.",
            model_type=model_type,
            supported=supported,
        )
    )


def _unreadable(gguf_file: Path, error: Exception) -> ModelError:
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return ModelError(
        Sentence(
            "{gguf_file} is damaged or is not a GGUF file that can be read ({reason}).",
            gguf_file=gguf_file,
            reason=reason,
        )
    )


def _save_weights(reader: Any, config: ModelConfig, dtype: str, gguf_file: Path, target: Path) -> None:
    import torch
    from safetensors.torch import save_file

    tensors = {}
    try:
        for name, tensor in _unpacked(reader, config):
            tensors[name] = tensor.to(getattr(torch, dtype))
    except ModelError:
        raise
    except Exception as error:
        raise _unreadable(gguf_file, error) from None
    save_file(tensors, target, metadata={"format": "pt"})


def _unpacked(reader: Any, config: ModelConfig) -> Iterator[tuple[str, Tensor]]:
    """The weights in float32 under their Hugging Face names."""
    import gguf
    import torch

    for tensor in reader.tensors:
        if tensor.name == ROPE_FACTORS:
            continue
        values = torch.from_numpy(gguf.dequantize(tensor.data, tensor.tensor_type).copy())
        part = tensor.name.split(".")[-2]
        if config.architecture == "LlamaForCausalLM" and part in ("attn_q", "attn_k"):
            values = _halves_from_pairs(values, config.num_heads if part == "attn_q" else config.num_kv_heads)
        yield _hf_name(tensor.name), values


def _hf_name(name: str) -> str:
    """``blk.3.attn_q.weight`` becomes ``model.layers.3.self_attn.q_proj.weight``."""
    parts = name.split(".")
    if parts[0] == "blk" and len(parts) == 4 and parts[2] in LAYER_TENSORS:
        return f"model.layers.{parts[1]}.{LAYER_TENSORS[parts[2]]}.{parts[3]}"
    if len(parts) == 2 and parts[0] in MODEL_TENSORS:
        return f"{MODEL_TENSORS[parts[0]]}.{parts[1]}"
    raise ModelError(Sentence("The GGUF file holds the weights {name}, which are not supported.", name=name))


def _halves_from_pairs(weight: Tensor, heads: int) -> Tensor:
    """GGUF turns neighbouring dimensions of a Llama head together, Hugging Face the halves."""
    return weight.view(heads, -1, 2, *weight.shape[1:]).transpose(1, 2).reshape(weight.shape).contiguous()


def _rope_scaling(reader: Any, config: ModelConfig) -> dict[str, Any] | None:
    """The "llama3" scaling, which GGUF stores as its effect on each frequency only.

    Raises:
        ModelError: the effect is that of another scaling.
    """
    import torch

    from .rotary import inverse_frequencies

    stored = next((tensor for tensor in reader.tensors if tensor.name == ROPE_FACTORS), None)
    if stored is None:
        return None
    effect = torch.from_numpy(stored.data.copy()).float()
    theta = config.rope.theta
    scaled = Rope(theta, "llama3", factor=float(effect.max()))
    expected = inverse_frequencies(Rope(theta), config.head_dim) / inverse_frequencies(
        scaled, config.head_dim
    )
    if not torch.allclose(effect, expected, rtol=1e-3):
        raise ModelError(
            Sentence("The GGUF file scales its rotary positions in a way that is not supported.")
        )
    return {
        "rope_type": "llama3",
        "rope_theta": theta,
        "factor": scaled.factor,
        "low_freq_factor": scaled.low_freq_factor,
        "high_freq_factor": scaled.high_freq_factor,
        "original_max_position_embeddings": scaled.original_max_positions,
    }


def _save_generation_config(tokenizer: Any, directory: Path) -> None:
    from transformers import GenerationConfig

    names = ("bos_token_id", "eos_token_id", "pad_token_id")
    values = {name: getattr(tokenizer, name) for name in names}
    GenerationConfig(**values).save_pretrained(directory)  # type: ignore[no-untyped-call]
