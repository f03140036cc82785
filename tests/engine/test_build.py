"""Sizes and errors of an engine that is built from server arguments."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from minisgl_tutor.engine import build  # noqa: E402
from minisgl_tutor.engine.base import EngineInfo  # noqa: E402
from minisgl_tutor.engine.build import build_engine, find_device, plan_sizes  # noqa: E402
from minisgl_tutor.engine.kv_cache import stored_type  # noqa: E402
from minisgl_tutor.models.config import parse_model_config  # noqa: E402
from minisgl_tutor.models.errors import ModelError  # noqa: E402
from minisgl_tutor.server.config import ServerArgs  # noqa: E402

CPU = torch.device("cpu")
CONFIG = parse_model_config(
    {
        "architectures": ["LlamaForCausalLM"],
        "vocab_size": 100,
        "hidden_size": 1024,
        "intermediate_size": 8,
        "num_hidden_layers": 16,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "max_position_embeddings": 32768,
    }
)
TOKEN_BYTES = 2 * 16 * 4 * 128 * 2


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    return lambda size: monkeypatch.setattr(build, "available_memory", lambda: size)


def test_sizes_of_the_model_and_the_machine(memory: Callable[[int], None]) -> None:
    memory(64 << 30)
    few = plan_sizes(ServerArgs(max_running_req=8), CONFIG, torch.bfloat16, CPU)
    assert few == EngineInfo(16, 8 * 4096 // 16, 8, 8192, 100)
    # Many requests at the full length would take more than a CPU's pool may.
    many = plan_sizes(ServerArgs(), CONFIG, torch.bfloat16, CPU)
    assert many.num_pages == (2 << 30) // (16 * TOKEN_BYTES)
    memory(1 << 30)
    small = plan_sizes(ServerArgs(), CONFIG, torch.bfloat16, CPU)
    assert small.num_pages == (1 << 29) // (16 * TOKEN_BYTES)


def test_sizes_that_are_given() -> None:
    args = ServerArgs(page_size=4, num_pages=50, max_running_req=3, max_seq_len=77)
    assert plan_sizes(args, CONFIG, torch.float32, CPU) == EngineInfo(4, 50, 3, 77, 100)


def test_a_short_model_bounds_the_length() -> None:
    short = replace(CONFIG, max_positions=512)
    assert plan_sizes(ServerArgs(), short, torch.bfloat16, CPU).max_seq_len == 512
    with pytest.raises(ModelError, match="--max-seq-len 513 is beyond the model's 512 positions"):
        plan_sizes(ServerArgs(max_seq_len=513), short, torch.bfloat16, CPU)


def test_a_sliding_window_bounds_the_length() -> None:
    sliding = replace(CONFIG, sliding_window=4096)
    assert plan_sizes(ServerArgs(), sliding, torch.bfloat16, CPU).max_seq_len == 4096
    with pytest.raises(ModelError, match=r"4097 is beyond the model's sliding window of 4096 tokens"):
        plan_sizes(ServerArgs(max_seq_len=4097), sliding, torch.bfloat16, CPU)


def test_8_bits_hold_twice_the_tokens(memory: Callable[[int], None]) -> None:
    memory(1 << 30)
    args = ServerArgs(kv_cache_dtype="fp8")
    found = plan_sizes(args, CONFIG, stored_type("fp8", torch.bfloat16), CPU).num_pages
    assert found == 2 * plan_sizes(ServerArgs(), CONFIG, stored_type("auto", torch.bfloat16), CPU).num_pages


def test_no_memory(memory: Callable[[int], None]) -> None:
    memory(1000)
    with pytest.raises(ModelError, match="no memory for the K/V pool"):
        plan_sizes(ServerArgs(), CONFIG, torch.bfloat16, CPU)


def test_this_machine_has_memory() -> None:
    assert build.available_memory() > 1 << 20


@pytest.mark.parametrize(("name", "sentence"), [("toaster", "toaster is not a device"), ("cuda", "no GPU")])
def test_a_device_that_is_not_there(name: str, sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ModelError, match=sentence):
        find_device(name)


def test_weights_that_are_not_numbers(peer: Callable[[str], Any], tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    source = peer("qwen3").directory
    (tmp_path / "config.json").write_bytes((source / "config.json").read_bytes())
    tensors = load_file(source / "model.safetensors")
    tensors["model.norm.weight"][5] = float("nan")
    save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(ModelError, match="does not run: its scores are not numbers"):
        build_engine(ServerArgs(model=str(tmp_path), num_pages=4, threads=1))


def test_dummy_weights_need_no_file(peer: Callable[[str], Any], tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes((peer("qwen3").directory / "config.json").read_bytes())
    args = ServerArgs(model=str(tmp_path), dummy_weight=True, num_pages=4, threads=1)
    assert build_engine(args).info.vocab_size == 96


def test_torch_comes_late() -> None:
    """What the launcher and the tokenizers import leaves torch to the scheduler's process."""
    modules = "engine.build, engine.process, models.resolve, models.gguf, models.config"
    code = "import sys\n" + "\n".join(f"import minisgl_tutor.{name.strip()}" for name in modules.split(","))
    code += "\nprint({'torch', 'transformers', 'huggingface_hub', 'safetensors'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"


def test_a_pool_beyond_the_memory_is_refused_by_its_size() -> None:
    with pytest.raises(ModelError, match=r"--num-pages 2000000000 take .* GB"):
        plan_sizes(ServerArgs(num_pages=2_000_000_000), CONFIG, torch.bfloat16, CPU)


@pytest.mark.parametrize("attn", ["nope", "fi", "triton", "sdpa,fi"])
def test_an_attention_that_is_not_here_is_refused_on_a_cpu_too(attn: str) -> None:
    with pytest.raises(ModelError, match=f"--attn {attn}"):
        build_engine(ServerArgs(attn=attn))
