#!/usr/bin/env python3
"""Check that a wheel and an sdist carry every file of the package and the chapters, and nothing else.

    scripts/check_wheel_files.py dist/*.whl dist/*.tar.gz

The sdist has the tests and scripts too, so that it can be checked like a checkout.
"""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent


def source_files(folder: str) -> set[str]:
    return {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def wheel_files(wheel: Path) -> set[str]:
    """Names as they lie in a checkout: the chapters are beside the package there."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" not in name]
    return {name.removeprefix("minisgl_tutor/") if "/chapters/" in name else name for name in names}


def sdist_files(sdist: Path) -> set[str]:
    with tarfile.open(sdist) as archive:
        names = [PurePosixPath(member.name) for member in archive.getmembers() if member.isfile()]
    return {str(PurePosixPath(*name.parts[1:])) for name in names}


def main(wheel: Path, sdist: Path) -> str | None:
    expected = source_files("minisgl_tutor") | source_files("chapters")
    found = wheel_files(wheel)
    for missing in sorted(expected - found):
        return f"{wheel.name} lacks {missing}"
    for surplus in sorted(found - expected):
        return f"{wheel.name} carries {surplus}"
    for folder in ("scripts", "tests"):
        expected |= source_files(folder)
    for missing in sorted(expected - sdist_files(sdist)):
        return f"{sdist.name} lacks {missing}"
    print(f"{len(found)} files in the wheel, {wheel.stat().st_size / 1e6:.1f} MB")
    return None


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
