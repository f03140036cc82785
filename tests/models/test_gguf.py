"""A GGUF file becomes the same model as transformers makes of it, once, whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
gguf = pytest.importorskip("gguf")
pytest.importorskip("transformers")

from minisgl_tutor.models.config import Rope, load_model_config  # noqa: E402
from minisgl_tutor.models.errors import ModelError  # noqa: E402
from minisgl_tutor.models.gguf import converted  # noqa: E402
from minisgl_tutor.models.rotary import inverse_frequencies  # noqa: E402
from minisgl_tutor.models.weights import load_weights  # noqa: E402

HEADS, KV_HEADS, DIM, WIDTH, INNER, LAYERS = 4, 2, 8, 32, 64, 2
VOCAB = 256 + 4


def byte_tokens() -> list[str]:
    """The characters that byte-level BPE writes the 256 bytes with, a pair, and three special tokens."""
    from tokenizers.pre_tokenizers import ByteLevel

    return [*sorted(ByteLevel.alphabet()), "ab", "<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def write_gguf(
    path: Path,
    theta: float = 1e4,
    rope_factors: np.ndarray | None = None,
    kind: str = "llama",
    experts: int = 0,
    **extra: np.ndarray,
) -> Path:
    writer = gguf.GGUFWriter(path, kind)
    if experts:
        writer.add_expert_count(experts)
        writer.add_expert_used_count(2)
        writer.add_expert_feed_forward_length(INNER)
    writer.add_context_length(128)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(theta)
    writer.add_rope_dimension_count(DIM)
    writer.add_vocab_size(VOCAB)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(byte_tokens())
    writer.add_token_types([1] * 257 + [3] * 3)
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(258)
    writer.add_eos_token_id(259)
    writer.add_chat_template("{{ messages[0]['content'] }}")

    rng = np.random.default_rng(0)
    q8, f32 = gguf.GGMLQuantizationType.Q8_0, gguf.GGMLQuantizationType.F32

    def add(name: str, *shape: int) -> None:
        values = rng.normal(1 if len(shape) == 1 else 0, 0.2, shape).astype(np.float32)
        kind = f32 if len(shape) == 1 else q8
        writer.add_tensor(name, gguf.quants.quantize(values, kind), raw_dtype=kind)

    add("token_embd.weight", VOCAB, WIDTH)
    add("output_norm.weight", WIDTH)
    for layer in range(LAYERS):
        add(f"blk.{layer}.attn_norm.weight", WIDTH)
        add(f"blk.{layer}.attn_q.weight", HEADS * DIM, WIDTH)
        add(f"blk.{layer}.attn_k.weight", KV_HEADS * DIM, WIDTH)
        add(f"blk.{layer}.attn_v.weight", KV_HEADS * DIM, WIDTH)
        add(f"blk.{layer}.attn_output.weight", WIDTH, HEADS * DIM)
        add(f"blk.{layer}.ffn_norm.weight", WIDTH)
        add(f"blk.{layer}.ffn_gate.weight", INNER, WIDTH)
        add(f"blk.{layer}.ffn_up.weight", INNER, WIDTH)
        add(f"blk.{layer}.ffn_down.weight", WIDTH, INNER)
    if rope_factors is not None:
        writer.add_tensor("rope_freqs.weight", rope_factors.astype(np.float32))
    for name, values in extra.items():
        writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf")


@pytest.fixture(scope="module")
def model_dir(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return converted(source, "float32", tmp_path_factory.mktemp("cache"))


def test_the_weights_are_those_that_transformers_reads(source: Path, model_dir: Path) -> None:
    from safetensors.torch import load_file
    from transformers import AutoModelForCausalLM, GgufConfig

    peer = AutoModelForCausalLM.from_pretrained(
        source.parent,
        gguf_file=source.name,
        dtype=torch.float32,
        quantization_config=GgufConfig(dequantize=True),
    )
    expected = peer.state_dict()
    found = load_file(model_dir / "model.safetensors")
    assert {*found, "lm_head.weight"} == {*expected}
    for name, tensor in found.items():
        assert torch.equal(tensor, expected[name]), name
    # And the other way: transformers and the decoder both take the directory for a model of theirs.
    again = AutoModelForCausalLM.from_pretrained(model_dir, dtype=torch.float32)
    ids = torch.tensor([[1, 5, 9, 200, 7]])
    torch.testing.assert_close(again(ids).logits, peer(ids).logits)


def test_what_the_directory_holds(model_dir: Path) -> None:
    from transformers import AutoTokenizer

    config = load_model_config(model_dir)
    assert (config.architecture, config.tie_embeddings, config.head_dim) == ("LlamaForCausalLM", True, DIM)
    generation = json.loads((model_dir / "generation_config.json").read_text())
    assert (generation["bos_token_id"], generation["eos_token_id"]) == (258, 259)
    tokenizer = AutoTokenizer.from_pretrained(model_dir)
    assert tokenizer.decode(tokenizer.encode("good day")) == "good day"
    assert json.loads((model_dir / "tokenizer_config.json").read_text())["chat_template"]
    assert (model_dir / "tokenizer.json").is_file()


def test_a_file_is_converted_once_for_each_type(source: Path, tmp_path: Path) -> None:
    first = converted(source, "bfloat16", tmp_path)
    stamp = (first / "model.safetensors").stat().st_mtime_ns
    copy = tmp_path / "elsewhere" / source.name
    copy.parent.mkdir()
    copy.write_bytes(source.read_bytes())
    assert converted(copy, "bfloat16", tmp_path) == first
    assert (first / "model.safetensors").stat().st_mtime_ns == stamp
    copy.write_bytes(source.read_bytes()[:-32] + bytes(32))
    assert converted(copy, "bfloat16", tmp_path) != first


def test_llama3_scaling_is_read_from_its_effect(tmp_path: Path) -> None:
    rope = Rope(1e6, "llama3", 8.0, 1.0, 4.0, 8192)
    effect = (inverse_frequencies(Rope(1e6), DIM) / inverse_frequencies(rope, DIM)).numpy()
    assert sorted(effect)[0] == 1 < sorted(effect)[2] < sorted(effect)[3] == 8
    file = write_gguf(tmp_path / "scaled.gguf", theta=1e6, rope_factors=effect)
    assert load_model_config(converted(file, "float32", tmp_path / "cache")).rope == rope


def test_another_scaling_is_refused(tmp_path: Path) -> None:
    file = write_gguf(tmp_path / "scaled.gguf", theta=1e6, rope_factors=np.array([1, 2, 4, 8]))
    with pytest.raises(ModelError, match="rotary positions"):
        converted(file, "float32", tmp_path / "cache")


@pytest.mark.parametrize("keep", [0, 3, 200, 5000, 9000, -1])
def test_a_cut_off_file(source: Path, tmp_path: Path, keep: int) -> None:
    file = tmp_path / "cut.gguf"
    file.write_bytes(source.read_bytes()[:keep])
    with pytest.raises(ModelError, match=r"cut\.gguf is damaged or is not a GGUF file") as caught:
        converted(file, "float32", tmp_path / "cache")
    assert "\n" not in str(caught.value)
    assert not [path for path in (tmp_path / "cache").iterdir() if path.is_dir()]


def test_weights_that_have_no_place(tmp_path: Path) -> None:
    file = write_gguf(tmp_path / "odd.gguf", **{"blk.0.attn_sinks.weight": np.ones(8, np.float32)})
    with pytest.raises(ModelError, match=r"blk\.0\.attn_sinks\.weight"):
        converted(file, "float32", tmp_path / "cache")


def test_the_decoder_loads_it(model_dir: Path) -> None:
    from minisgl_tutor.models.decoder import Decoder

    filled = Decoder(load_model_config(model_dir), 64, torch.float32, torch.device("cpu"))
    load_weights(filled, model_dir)
    assert filled.embedding.weight.isfinite().all()


def test_a_mixture_of_experts_is_refused(tmp_path: Path) -> None:
    file = write_gguf(tmp_path / "many.gguf", kind="qwen3moe", experts=4)
    with pytest.raises(ModelError, match="mixture of experts, which can be read from safetensors files only"):
        converted(file, "float32", tmp_path / "cache")
