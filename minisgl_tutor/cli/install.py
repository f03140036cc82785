"""What to run where a part of this package is not installed: one wording for all commands."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

from ..language import Sentence
from ..resources import PACKAGE_DIR
from .fail import fail

PACKAGE = "minisgl-tutor"


def install_command(extra: str = "") -> str:
    """The line that installs this package, with an extra, for the running interpreter.

    In a checkout it keeps to ``constraints.txt``, as the README's commands do: without
    it pip may choose another torch, and download a second set of libraries.
    """
    python = shlex.quote(_short(Path(sys.executable)))
    of = f"[{extra}]" if extra else ""
    root = PACKAGE_DIR.parent
    constraints = root / "constraints.txt"
    if constraints.is_file() and (root / "pyproject.toml").is_file():
        target = shlex.quote(_short(root) + of)
        return f"{python} -m pip install -c {shlex.quote(_short(constraints))} -e {target}"
    return f"{python} -m pip install {shlex.quote(PACKAGE + of)}"


def need_engine(purpose: Sentence) -> None:
    """Ends the command with one sentence if torch is not installed; ``purpose`` begins that sentence."""
    _need("torch", "engine", purpose)


def need_bench(purpose: Sentence, package: str) -> None:
    """The same for a package of the extra ``bench``."""
    _need(package, "bench", purpose)


def _need(package: str, extra: str, purpose: Sentence) -> None:
    if find_spec(package) is None:
        fail(
            Sentence(
                "{purpose} needs {package}, which is not installed; run: {command}",
                purpose=purpose,
                package=package,
                command=install_command(extra),
            ),
            status=1,
        )


def _short(path: Path) -> str:
    """Relative if it lies below the current folder."""
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)
