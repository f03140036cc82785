#!/usr/bin/env python3
"""Builds the documentation site, in English and Chinese, without a network.

    .venv/bin/pip install -c constraints.txt -e '.[docs]'
    .venv/bin/python scripts/build_site.py --into site

Open ``site/index.html`` then; no server is needed. A warning of Sphinx is an error, and so is a link
that leads to nothing.
"""

from __future__ import annotations

import argparse
import logging
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "docs" / "site"
sys.path.insert(0, str(SITE))

from tutor_site.check import faults  # noqa: E402
from tutor_site.links import FILES  # noqa: E402
from tutor_site.pages import Pages  # noqa: E402
from tutor_site.traces import Traces  # noqa: E402
from tutor_site.tree import Tree  # noqa: E402
from tutor_site.words import LANGUAGES, Language  # noqa: E402

SPHINX_LANGUAGE: dict[Language, str] = {"en": "en", "zh": "zh_CN"}


def build(into: Path) -> list[str]:
    """Writes the site into an empty or new folder. Returns what is wrong with it."""
    pages = Pages(ROOT)
    traces = Traces([pages.text(page) for page in pages.by_source.values()])
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        copied = set()
        for language in LANGUAGES:
            copied |= Tree(pages, traces, language).write(work / language)
        traces.write(into)
        for file in copied:
            target = into / FILES / f"{file}.txt"
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / file, target)
        shutil.copyfile(SITE / "start.html", into / "index.html")
        running = [sphinx(work, language, into) for language in LANGUAGES]
        ended = [process.wait() for process in running]
    if any(ended):
        return ["Sphinx has said above what is wrong with the pages"]
    return faults(into)


def sphinx(work: Path, language: Language, into: Path) -> subprocess.Popen[bytes]:
    options = [
        "-b",
        "html",
        "-W",
        "--keep-going",
        "-q",
        "-c",
        str(SITE),
        "-d",
        str(work / f"doctrees-{language}"),
    ]
    options += ["-D", f"language={SPHINX_LANGUAGE[language]}", str(work / language), str(into / language)]
    return subprocess.Popen([sys.executable, "-m", "sphinx", *options])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--into", type=Path, required=True, help="A folder that is empty, or not there yet.")
    into: Path = parser.parse_args().into.resolve()
    if into.exists() and any(into.iterdir()):
        parser.error(f"{into} is not empty; name another folder, or delete it")
    into.mkdir(parents=True, exist_ok=True)
    # What the components log while they are played is in the traces.
    logging.getLogger("minisgl_tutor").addHandler(logging.NullHandler())
    wrong = build(into)
    for fault in wrong:
        print(fault, file=sys.stderr)
    if wrong:
        raise SystemExit(1)
    size = sum(file.stat().st_size for file in into.rglob("*") if file.is_file())
    print(f"{into / 'index.html'}: open it in a browser ({size / 1e6:.1f} MB, needs no network)")


if __name__ == "__main__":
    main()
