"""``minisgl-tutor watch``: judges a file whenever it is saved."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from ..language import Sentence
from .caller import caller
from .check import judged
from .desk import Desk, Name

LOOK_S = 0.3
"""How often the file is looked at."""


def watch(
    context: typer.Context,
    name: Name,
    once: Annotated[bool, typer.Option("--until-right", help="End as soon as it is right.")] = False,
) -> None:
    """Check an exercise again whenever you save it, until Ctrl+C."""
    import secrets

    from ..exercises.verdict import Exit
    from ..exercises.workspace import shown

    desk = Desk(caller(context).say)
    exercise = desk.exercise(name)
    with desk.writing():
        desk.workspace.start(exercise)
    file = shown(desk.workspace.file(exercise))
    desk.tell(Sentence("{file} is judged whenever it is saved. Ctrl+C ends this.", file=file))
    last = None
    while True:
        digest = desk.workspace.digest(exercise)
        if digest and digest != last:
            last = digest
            verdict = judged(desk, exercise, secrets.randbelow(1_000_000), quiet=False)
            if once and verdict.exit is Exit.RIGHT:
                return
        time.sleep(LOOK_S)
