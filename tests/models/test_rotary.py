"""Rotary positions against transformers' and against complex numbers."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from minisgl_tutor.models.config import Rope  # noqa: E402
from minisgl_tutor.models.rotary import inverse_frequencies, rotary_table, rotate  # noqa: E402


def test_heads_turn_as_complex_numbers_do() -> None:
    x = torch.randn(5, 3, 8, generator=torch.Generator().manual_seed(0))
    positions = torch.tensor([0, 1, 7, 30, 2])
    table = rotary_table(Rope(10000.0), 8, 31, torch.device("cpu"))
    turned = rotate(x, table[positions])
    angles = (
        positions.double()[:, None, None] * torch.tensor([10000.0 ** -(i / 4) for i in range(4)]).double()
    )
    expected = torch.complex(x[..., :4].double(), x[..., 4:].double()) * torch.exp(1j * angles)
    torch.testing.assert_close(turned[..., :4].double(), expected.real, rtol=0, atol=1e-5)
    torch.testing.assert_close(turned[..., 4:].double(), expected.imag, rtol=0, atol=1e-5)
    assert torch.equal(turned[0], x[0])
    assert rotate(x.bfloat16(), table[positions]).dtype == torch.bfloat16


def test_linear_scaling_stretches_every_wave() -> None:
    plain, scaled = inverse_frequencies(Rope(1e4), 16), inverse_frequencies(Rope(1e4, "linear", 4.0), 16)
    torch.testing.assert_close(scaled * 4, plain)


def test_llama3_scaling_keeps_short_waves_and_stretches_long_ones() -> None:
    rope = Rope(5e5, "llama3", 8.0, 1.0, 4.0, 8192)
    plain, scaled = inverse_frequencies(Rope(5e5), 128), inverse_frequencies(rope, 128)
    waves = 2 * math.pi / plain
    assert torch.equal(scaled[waves < 8192 / 4], plain[waves < 8192 / 4])
    torch.testing.assert_close(scaled[waves > 8192] * 8, plain[waves > 8192])
    between = (waves > 8192 / 4) & (waves < 8192)
    assert between.any()
    assert ((scaled < plain) & (scaled * 8 > plain))[between].all()
