"""A product is the same before and after its weight was laid out for speed."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from minisgl_tutor.models.linear import Linear  # noqa: E402


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("rows", [0, 1, 7, 64])
def test_frozen_products(rows: int, dtype: torch.dtype, bias: bool) -> None:
    generator = torch.Generator().manual_seed(rows)
    linear = Linear(48, 80, bias, dtype, torch.device("cpu"))
    linear.weight.normal_(generator=generator)
    if linear.bias is not None:
        linear.bias.normal_(generator=generator)
    x = torch.randn(rows, 48, generator=generator).to(dtype)
    expected = x.double() @ linear.weight.double().T + (linear.bias.double() if bias else 0)
    linear.freeze()
    found = linear(x)
    assert found.dtype == dtype
    assert found.shape == (rows, 80)
    # Rounded once, at the end.
    torch.testing.assert_close(
        found.double(), expected, rtol=2**-8 if dtype == torch.bfloat16 else 1e-5, atol=1e-4
    )
