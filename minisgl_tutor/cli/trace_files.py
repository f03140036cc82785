"""What ``trace`` writes into files instead of printing it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ..language import Sentence, Tongue, reason_of
from .fail import fail
from .told import tell

if TYPE_CHECKING:
    from ..views.shown import ShownScene


def scene_name(path: Path) -> str:
    """The recording's file name without ending and without the number that orders it."""
    return re.sub(r"^\d+-(?=.)", "", path.stem)


def write_files(
    scenes: list[ShownScene],
    html: Path | None,
    perfetto: Path | None,
    from_step: int,
    yours: Path | None,
    say: Tongue,
) -> None:
    """Writes what was asked for, and says so on stderr."""
    from ..views.html import page
    from ..views.perfetto import write_perfetto
    from ..views.source import Sources

    if html is not None:
        content = page(scenes, from_step, Sources(yours), language=say.language)
        _write(html, lambda out: out.write(content))
        told = Sentence("{file}: open it in a browser; it needs no network", file=html)
        tell(say(told), err=True)
    if perfetto is not None:
        _write(perfetto, lambda out: write_perfetto(out, scenes))
        told = Sentence("{file}: open it in Perfetto or in chrome://tracing", file=perfetto)
        tell(say(told), err=True)


def _write(path: Path, write: Callable[[BinaryIO], object]) -> None:
    try:
        with path.open("wb") as out:
            write(out)
    except OSError as error:
        fail(Sentence("{file} cannot be written: {why}", file=path, why=reason_of(error)))
