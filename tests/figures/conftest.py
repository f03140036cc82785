"""The script that draws the figures, and what it draws, once for all tests."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("torch")
SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture(scope="session")
def script() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(SCRIPTS))
        yield importlib.import_module("draw_figures")
    for name in [name for name in sys.modules if name.partition(".")[0] in ("draw_figures", "figures")]:
        del sys.modules[name]


@pytest.fixture(scope="session")
def drawn(script: ModuleType) -> dict[Path, str]:
    """Each file of each figure, and what is drawn today."""
    return {file: drawing for figure in script.FIGURES for file, drawing in script.drawings(figure)}
