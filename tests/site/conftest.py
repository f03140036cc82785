"""The site, built once for all of its tests."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from chromium import browser as browser

ROOT = Path(__file__).resolve().parents[2]


class Site:
    """A site that has been built."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cache  # noqa: B019
    def text(self, page: str) -> str:
        return (self.folder / f"{page}.html").read_text("utf-8")

    def pages(self, language: str) -> list[str]:
        own = self.folder / language
        return sorted(path.relative_to(own).with_suffix("").as_posix() for path in own.rglob("*.html"))


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "scripts/build_site.py", "--into", str(folder)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return Site(folder)
