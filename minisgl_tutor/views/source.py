"""The lines of code around a step's location."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from ..resources import PACKAGE_DIR
from ..trace.steps import Location


class Sources:
    """Reads each file once. ``readers_file`` lies outside the package: the one that ``--yours`` gave."""

    def __init__(self, readers_file: Path | None = None) -> None:
        self._readers_file = readers_file
        self._lines = cache(self._read)

    def around(self, location: Location, margin: int = 6) -> list[tuple[int, str]]:
        """Its line with up to ``margin`` before and behind, numbered; none if the file is not to be had."""
        lines = self._lines(location.file)
        first = max(1, location.line - margin)
        return list(enumerate(lines[first - 1 : location.line + margin], first))

    def first_class(self, file: str) -> int:
        """The line at which the file's first class begins; 1 if there is none."""
        return next((n for n, line in enumerate(self._lines(file), 1) if line.startswith("class ")), 1)

    def _read(self, file: str) -> list[str]:
        path = PACKAGE_DIR / file
        if self._readers_file is not None and file == self._readers_file.name:
            path = self._readers_file
        try:
            return path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return []
