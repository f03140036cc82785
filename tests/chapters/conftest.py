"""The script that fills the excerpts, and what the scenes log while it plays them."""

from __future__ import annotations

import importlib.util
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "fill_chapters.py"


@pytest.fixture(scope="session")
def script() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("fill_chapters", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logger = logging.getLogger("minisgl_tutor")
    logger.addHandler(handler := logging.NullHandler())
    yield
    logger.removeHandler(handler)
