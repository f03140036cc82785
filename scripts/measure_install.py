#!/usr/bin/env python3
"""Measure what an installation adds to a fresh virtual environment on disk.

    scripts/measure_install.py .                   # the light install
    scripts/measure_install.py '.[engine]' --limit 2000

The environment is made by the Python that runs this script, in a temporary
folder, and removed. Sizes are disk blocks, as ``du`` counts them, in units of
10^6 bytes. With ``--limit MB`` the script fails when the growth is larger.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterable
from pathlib import Path

CONSTRAINTS = Path(__file__).resolve().parent.parent / "constraints.txt"


def disk_mb(paths: Iterable[Path]) -> float:
    return sum(path.lstat().st_blocks * 512 for path in paths) / 1e6


def tree_mb(folder: Path) -> float:
    return disk_mb([folder, *folder.rglob("*")])


def main() -> str | None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("requirement", help="what to install, as pip takes it")
    parser.add_argument("--limit", type=float, metavar="MB", help="fail when the growth is larger")
    parser.add_argument("--top", type=int, default=8, metavar="N", help="list the N largest packages")
    args = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        venv.create(root, with_pip=True)
        before = tree_mb(root)
        pip = [str(root / "bin" / "python"), "-m", "pip", "install", "--quiet", "-c", str(CONSTRAINTS)]
        subprocess.run([*pip, args.requirement], check=True)
        growth = tree_mb(root) - before
        site = next(root.glob("lib/python*/site-packages"))
        sizes = sorted(((tree_mb(path), path.name) for path in site.iterdir() if path.is_dir()), reverse=True)

    version = ".".join(map(str, sys.version_info[:3]))
    print(f"pip install {args.requirement}: {growth:.0f} MB added (Python {version}, {sys.platform})")
    for size, name in [pair for pair in sizes if pair[1] not in ("pip", "setuptools")][: args.top]:
        print(f"{size:8.1f}  {name}")
    if args.limit is not None and growth > args.limit:
        return f"more than the {args.limit:.0f} MB allowed"
    return None


if __name__ == "__main__":
    sys.exit(main())
