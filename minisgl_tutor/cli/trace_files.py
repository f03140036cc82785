"""What ``trace`` writes into files instead of printing it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ..language import Sentence, Tongue, reason_of
from .fail import fail
from .told import tell

if TYPE_CHECKING:
    from .trace_plays import Chosen, Player


def write_files(
    plays: Sequence[Chosen],
    player: Player,
    html: Path | None,
    perfetto: Path | None,
    from_step: int,
    say: Tongue,
) -> None:
    """Writes what was asked for, and says so on stderr."""
    from ..views.html import page
    from ..views.perfetto import write_perfetto
    from ..views.shown import ShownScene
    from ..views.source import Sources

    scenes = []
    for each in plays:
        result = player.play(each.recording, each.gaps)
        scenes.append(ShownScene(each.name, each.title, result.gaps, result.steps))
    if html is not None:
        content = page(scenes, from_step, Sources(player.yours), language=say.language)
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
