"""What ``bench serve`` prints: a bar while it runs, then a table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from ..bench.answer import Answer
from ..bench.figures import remarks
from ..bench.load import NoWatcher, Watcher

EMPTY = "-"


class Bar:
    """Moves a progress bar on with each answer, and counts the chunks of text."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task
        self._chunks = 0

    def text(self) -> None:
        self._chunks += 1

    def end(self, answer: Answer) -> None:
        self._progress.update(self._task, advance=1, chunks=self._chunks)


@contextmanager
def shown_progress(requests: int) -> Iterator[Watcher]:
    """A bar for so many requests, on a terminal; elsewhere nothing is shown."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield NoWatcher()
        return
    columns = (
        TextColumn("answers"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[chunks]:,} chunks of text"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True, refresh_per_second=4) as progress:
        yield Bar(progress, progress.add_task("answers", total=requests, chunks=0))


def print_result(result: dict[str, Any]) -> None:
    """The figures of ``bench.online.report``."""
    console = Console()
    console.print(_counts(result))
    console.print(_latencies(result))
    for kind, count in result["failed"].items():
        message = result["first_message_of_each"][kind]
        told = f" (the first: {message})" if message else ""
        console.print(f"{count} failed, {kind}{told}", markup=False, highlight=False)
    for remark in remarks(result):
        console.print(remark, markup=False, highlight=False)


def _counts(result: dict[str, Any]) -> Table:
    table = Table(title=f"{result['model']} at {result['options']['url']}", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    failed = sum(result["failed"].values())
    rows = {
        "requests answered / failed": f"{result['whole']} / {failed}",
        "seconds": f"{result['seconds']:.2f}",
        "output tokens a second": _number(result["output_tok_s"]),
        "requests a second": _number(result["requests_s"]),
        "output tokens": f"{result['output_tokens']:,}",
        "tokens counted by": result["counted_by"] if result["whole"] else EMPTY,
        "chunks of text": f"{result['chunks_of_text']:,}",
        "tokens of an answer": _range(result["tokens_per_answer"]),
        "chunks of an answer": _range(result["chunks_per_answer"]),
        "tokens asked for": _range(result["asked_per_answer"]),
        "input tokens": f"{result['input_tokens']:,}",
        "this client's share of a core": _percent(result["client_core_share"]),
    }
    for name, value in rows.items():
        table.add_row(name, value)
    return table


def _latencies(result: dict[str, Any]) -> Table:
    table = Table("milliseconds")
    for column in ("mean", "p50", "p90", "p99"):
        table.add_column(column, justify="right")
    for name, values in result["latency_ms"].items():
        table.add_row(name, *(_number(values[column]) for column in ("mean", "p50", "p90", "p99")))
    return table


def _number(value: float | None) -> str:
    """Three digits that matter, or more before the point."""
    if value is None:
        return EMPTY
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f}"


def _percent(value: float | None) -> str:
    return EMPTY if value is None else f"{value:.0%}"


def _range(values: list[int]) -> str:
    if not values:
        return EMPTY
    least, most = values
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"
