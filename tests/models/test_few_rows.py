"""Products of few rows against float64. Runs on a GPU, or anywhere with TRITON_INTERPRET=1."""

from __future__ import annotations

import os

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
if not torch.cuda.is_available() and os.environ.get("TRITON_INTERPRET") != "1":
    pytest.skip("needs a GPU or Triton's interpreter", allow_module_level=True)

from minisgl_tutor.models.few_rows import few_rows, gated_row, linear  # noqa: E402

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize("rows", [1, 2, 4])
@pytest.mark.parametrize(("outputs", "width"), [(6, 64), (5, 2500), (33, 1024)])
@pytest.mark.parametrize("with_bias", [False, True])
def test_the_product(rows: int, outputs: int, width: int, with_bias: bool) -> None:
    torch.manual_seed(0)
    x, weight = torch.randn(rows, width, device=DEVICE), torch.randn(outputs, width, device=DEVICE)
    bias = torch.randn(outputs, device=DEVICE) if with_bias else None
    expected = x.double() @ weight.double().T + (0 if bias is None else bias.double())
    for product in (few_rows, linear):
        found = product(x, weight, bias)
        assert found.shape == (rows, outputs)
        torch.testing.assert_close(found.double(), expected, atol=2e-4, rtol=1e-5)


@pytest.mark.parametrize(("outputs", "width"), [(6, 64), (5, 2500)])
def test_the_gated_product(outputs: int, width: int) -> None:
    torch.manual_seed(0)
    x, weight = torch.randn(1, width, device=DEVICE), torch.randn(2 * outputs, width, device=DEVICE)
    gate, up = (x.double() @ weight.double().T).chunk(2, dim=-1)
    expected = torch.nn.functional.silu(gate) * up
    torch.testing.assert_close(gated_row(x, weight).double(), expected, atol=1e-3, rtol=1e-4)
