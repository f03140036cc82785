"""What --attn means on a machine, and what is said where it cannot be had."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from minisgl_tutor.attention import choose as choosing  # noqa: E402
from minisgl_tutor.attention.choose import Chosen, choose  # noqa: E402
from minisgl_tutor.cli.serve_options import ATTENTIONS  # noqa: E402
from minisgl_tutor.models.config import ModelConfig, Rope  # noqa: E402
from minisgl_tutor.models.errors import ModelError  # noqa: E402

CONFIG = ModelConfig("x", 100, 64, 64, 2, 4, 2, 128, 1e-6, Rope(1e4), 4096, True, False, False)
CPU, GPU = torch.device("cpu"), torch.device("cuda")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Packages that can be found; a compiler is one of them."""
    packages = {"flashinfer", "triton", "nvcc"}
    monkeypatch.setattr(choosing, "find_spec", lambda name: name if name in packages else None)
    monkeypatch.setattr(choosing, "find_nvcc", lambda: Path("nvcc") if "nvcc" in packages else None)
    return packages


def chosen(
    attn: str, device: object = GPU, dtype: object = torch.bfloat16, config: object = CONFIG
) -> Chosen:
    return choose(attn, config, dtype, device)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("attn", "expected"),
    [
        ("auto", Chosen("fi", "triton", captures_prompts=True)),
        ("fi", Chosen("fi", "fi")),
        ("sdpa", Chosen("sdpa", "sdpa")),
        ("triton", Chosen("fi", "triton", captures_prompts=True)),
        ("fi,sdpa", Chosen("fi", "sdpa")),
        ("sdpa,triton", Chosen("sdpa", "triton")),
        ("auto,fi", Chosen("fi", "fi", captures_prompts=True)),
    ],
)
def test_names_on_a_gpu(installed: set[str], attn: str, expected: Chosen) -> None:
    assert chosen(attn) == expected


@pytest.mark.parametrize("attn", ["auto", "sdpa"])
def test_a_cpu_has_sdpa(installed: set[str], attn: str) -> None:
    assert chosen(attn, CPU) == Chosen("sdpa", "sdpa")


@pytest.mark.parametrize("missing", ["flashinfer", "nvcc"])
def test_auto_does_without_flashinfer(installed: set[str], missing: str) -> None:
    installed.remove(missing)
    assert chosen("auto") == Chosen("sdpa", "triton", captures_prompts=True)


def test_kernels_built_ahead_need_no_compiler(installed: set[str]) -> None:
    installed.remove("nvcc")
    installed.add("flashinfer_jit_cache")
    assert chosen("auto") == Chosen("fi", "triton", captures_prompts=True)


def test_auto_in_float32_or_with_odd_heads(installed: set[str]) -> None:
    expected = Chosen("sdpa", "triton", captures_prompts=True)
    assert chosen("auto", dtype=torch.float32) == expected
    assert chosen("auto", config=replace(CONFIG, head_dim=80)) == expected


@pytest.mark.parametrize(
    ("attn", "missing", "said"),
    [
        (
            "fi",
            "flashinfer",
            r"not installed; `minisgl-tutor doctor` says how to install it, or give --attn auto",
        ),
        ("fi,triton", "nvcc", "nvcc, which is not found; install the CUDA toolkit and set CUDA_HOME"),
        ("triton", "triton", "needs a GPU and a CUDA build of torch"),
        ("triton,fi", "", "decode only; give fi or sdpa for prefill"),
        ("flash", "", "none of auto, fi, triton, sdpa"),
        ("fi,fi,fi", "", "nor two of them"),
        ("", "", "none of auto"),
    ],
)
def test_what_cannot_be_had_is_said(installed: set[str], attn: str, missing: str, said: str) -> None:
    installed.discard(missing)
    with pytest.raises(ModelError, match=said):
        chosen(attn)


def test_flashinfer_asks_for_a_gpu_and_16_bits(installed: set[str]) -> None:
    with pytest.raises(ModelError, match="needs a GPU; give --device cuda"):
        chosen("fi", CPU)
    with pytest.raises(ModelError, match="give --dtype bfloat16"):
        chosen("fi", dtype=torch.float32)


def test_the_command_line_knows_the_same_names() -> None:
    assert choosing.NAMES == ATTENTIONS
