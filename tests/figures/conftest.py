"""What the figures' script draws, once for all tests, and a browser to look at it."""

from __future__ import annotations

from pathlib import Path

import pytest
from chromium import browser as browser

pytest.importorskip("torch")


@pytest.fixture(scope="session")
def drawn() -> dict[Path, str]:
    """Each file of each figure, and what is drawn today."""
    from draw_figures import FIGURES, drawings

    return {file: drawing for figure in FIGURES for file, drawing in drawings(figure)}
