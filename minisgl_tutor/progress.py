"""How far a long piece of work has come: a bar where somebody watches a terminal, and a line in the log."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .language import Sentence, Tongue, chosen

LINE_EVERY_S = 10.0

logger = logging.getLogger(__name__)

Advance = Callable[[int], None]
"""Called with how much more is done, in any unit."""


@contextmanager
def progress(
    label: Sentence, total: int, rank: int = 0, clock: Callable[[], float] = time.monotonic
) -> Iterator[Advance]:
    """Tells of a work of ``total`` units, by what is said through the function that it gives.

    On standard error: a bar if that is a terminal, which is gone at the end; elsewhere
    a line in the log now and then. At the end a line says how long it took, unless the
    work failed. Of several processes that do the same, the one of rank 0 has the bar.
    The bar speaks the language of the environment, which is that of whoever started the
    process; the log is English.
    """
    begin = clock()
    bar = _bar if sys.stderr.isatty() and rank == 0 else _lines
    with bar(label, total, clock) as advance:
        yield advance
    logger.info("%s: done in %.1f s", label, clock() - begin)


@contextmanager
def _bar(label: Sentence, total: int, clock: Callable[[], float]) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    said = Tongue(chosen(os.environ).language)(label)
    columns = (TextColumn(said), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, get_time=clock, refresh_per_second=4) as bars:
        task = bars.add_task(said, total=total)
        yield lambda count: bars.advance(task, count)


@contextmanager
def _lines(label: Sentence, total: int, clock: Callable[[], float]) -> Iterator[Advance]:
    done, last = 0, clock()

    def advance(count: int) -> None:
        nonlocal done, last
        done += count
        if clock() - last >= LINE_EVERY_S and done < total:
            last = clock()
            logger.info("%s: %d %%", label, 100 * done // total)

    yield advance
