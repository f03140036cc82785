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
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "docs" / "site"
# Sphinx finds the site's own package there, and so does this; what comes below needs it.
sys.path.insert(0, str(SITE))

from tutor_site.words import LANGUAGES, WORDS, Language  # noqa: E402

from minisgl_tutor.cli.setting import SettingError, set_language  # noqa: E402
from minisgl_tutor.language import chosen  # noqa: E402


def words() -> dict[str, str]:
    """What is said to whoever runs this, in their language."""
    try:
        return WORDS[chosen(os.environ, set_language()).language]
    except SettingError:
        return WORDS[chosen(os.environ).language]


if missing := [name for name in ("furo", "myst_parser", "sphinx") if find_spec(name) is None]:
    raise SystemExit(words()["not installed"].format(names=", ".join(missing)))

from tutor_site.check import faults  # noqa: E402
from tutor_site.links import FILES, DeadLink  # noqa: E402
from tutor_site.pages import Pages  # noqa: E402
from tutor_site.traces import FOLDER as TRACES  # noqa: E402
from tutor_site.traces import Traces  # noqa: E402
from tutor_site.tree import Tree  # noqa: E402

PARTS = {"index.html", TRACES, FILES, *LANGUAGES}
"""What a site consists of."""

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
    options = ["-b", "html", "-W", "--keep-going", "-q"]
    options += ["-c", str(SITE), "-d", str(work / f"doctrees-{language}")]
    options += ["-D", f"language={SPHINX_LANGUAGE[language]}"]
    options += [str(work / language), str(into / language)]
    return subprocess.Popen([sys.executable, "-m", "sphinx", *options])


def make_room(into: Path) -> bool:
    """Whether the folder is empty now, once a site that was built there before has been taken away."""
    into.mkdir(parents=True, exist_ok=True)
    names = {path.name for path in into.iterdir()}
    if names and names <= PARTS and (into / "index.html").is_file():
        shutil.rmtree(into)
        into.mkdir()
    return not any(into.iterdir())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--into",
        type=Path,
        required=True,
        help="A folder that is empty, or has an older site, or is not there.",
    )
    into: Path = parser.parse_args().into.resolve()
    if not make_room(into):
        parser.error(words()["not a site"].format(folder=into))
    # What the components log while they are played is in the traces.
    logging.getLogger("minisgl_tutor").addHandler(logging.NullHandler())
    try:
        wrong = build(into)
    except DeadLink as error:
        wrong = [str(error)]
    for fault in wrong:
        print(fault, file=sys.stderr)
    if wrong:
        raise SystemExit(1)
    size = sum(file.stat().st_size for file in into.rglob("*") if file.is_file())
    print(words()["built"].format(file=into / "index.html", size=size / 1e6))


if __name__ == "__main__":
    main()
