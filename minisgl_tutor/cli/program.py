"""How the reader can start this program again, for the commands that are printed for them to type."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import sysconfig
from pathlib import Path

NAME = "minisgl-tutor"


def program() -> str:
    """``minisgl-tutor`` where a shell finds this installation by that name; else as it was started.

    That is the path of the script (from the current folder, if it is below), or ``python -m minisgl_tutor``
    with the Python that runs now. Quoted for a shell: a command line is ``f"{program()} serve"``.
    """
    started = Path(sys.argv[0])
    by_script = started.stem == NAME
    found = shutil.which(NAME)
    if found is not None and (_ours(found) or (by_script and _same(found, started))):
        return NAME
    if by_script:
        return shlex.quote(_typed(started))
    python = Path(sys.executable)
    # Not `_same`: the Python of a virtual environment is often a link to another one.
    in_path = shutil.which(python.name)
    short = in_path is not None and os.path.abspath(in_path) == os.path.abspath(python)
    return f"{shlex.quote(python.name if short else _typed(python))} -m minisgl_tutor"


def _ours(script: str) -> bool:
    return Path(script).resolve().parent == Path(sysconfig.get_path("scripts")).resolve()


def _same(one: str, other: Path) -> bool:
    return Path(one).resolve().with_suffix("") == other.resolve().with_suffix("")


def _typed(file: Path) -> str:
    """A path that a shell takes for one, not for a name to look for in PATH."""
    full, here = Path(os.path.abspath(file)), Path.cwd()
    if not full.is_relative_to(here):
        return str(full)
    below = full.relative_to(here)
    return str(below) if len(below.parts) > 1 else os.path.join(os.curdir, below)
