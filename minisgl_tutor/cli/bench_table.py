"""What ``bench serve`` prints: a bar while it runs, then a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from ..bench.answer import Answer, RequestFailed
from ..bench.figures import remarks
from ..bench.load import NoWatcher, Watcher
from ..language import Sentence, Tongue, sentence_of

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
def shown_progress(requests: int, say: Tongue) -> Iterator[Watcher]:
    """A bar for so many requests, on a terminal; elsewhere nothing is shown."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield NoWatcher()
        return
    chunks = "{task.fields[chunks]:,} " + say(Sentence("chunks of text"))
    columns = (
        TextColumn(say(Sentence("answers"))),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(chunks),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True, refresh_per_second=4) as progress:
        yield Bar(progress, progress.add_task("answers", total=requests, chunks=0))


def print_result(result: dict[str, Any], failures: Mapping[str, RequestFailed], say: Tongue) -> None:
    """The figures of ``bench.online.report``, and the first failure of each kind."""
    console = Console()
    console.print(_counts(result, say))
    console.print(_latencies(result, say))
    for kind, count in result["failed"].items():
        failed = Sentence("{count} failed, {kind}", count=count, kind=Sentence(kind))
        if str(failures[kind]):
            first = sentence_of(failures[kind])
            failed = Sentence("{failed} (the first: {first})", failed=failed, first=first)
        console.print(say(failed), markup=False, highlight=False)
    for remark in remarks(result):
        console.print(say(remark), markup=False, highlight=False)


def _counts(result: dict[str, Any], say: Tongue) -> Table:
    title = Sentence("{model} at {url}", model=result["model"], url=result["options"]["url"])
    table = Table(title=say(title), show_header=False)
    table.add_column()
    table.add_column(justify="right")
    failed = sum(result["failed"].values())
    counted_by = say(Sentence(result["counted_by"])) if result["whole"] else EMPTY
    rows = (
        (Sentence("requests answered / failed"), f"{result['whole']} / {failed}"),
        (Sentence("seconds"), f"{result['seconds']:.2f}"),
        (Sentence("output tokens a second"), _number(result["output_tok_s"])),
        (Sentence("requests a second"), _number(result["requests_s"])),
        (Sentence("output tokens"), f"{result['output_tokens']:,}"),
        (Sentence("tokens counted by"), counted_by),
        (Sentence("chunks of text"), f"{result['chunks_of_text']:,}"),
        (Sentence("tokens of an answer"), _range(result["tokens_per_answer"], say)),
        (Sentence("chunks of an answer"), _range(result["chunks_per_answer"], say)),
        (Sentence("tokens asked for"), _range(result["asked_per_answer"], say)),
        (Sentence("input tokens"), f"{result['input_tokens']:,}"),
        (Sentence("this client's share of a core"), _percent(result["client_core_share"])),
    )
    for name, value in rows:
        table.add_row(say(name), value)
    return table


def _latencies(result: dict[str, Any], say: Tongue) -> Table:
    table = Table(say(Sentence("milliseconds")))
    for column in (say(Sentence("mean")), "p50", "p90", "p99"):
        table.add_column(column, justify="right")
    for name, values in result["latency_ms"].items():
        figures = (_number(values[column]) for column in ("mean", "p50", "p90", "p99"))
        table.add_row(say(Sentence(name)), *figures)
    return table


def _number(value: float | None) -> str:
    """Three digits that matter, or more before the point."""
    if value is None:
        return EMPTY
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f}"


def _percent(value: float | None) -> str:
    return EMPTY if value is None else f"{value:.0%}"


def _range(values: list[int], say: Tongue) -> str:
    if not values:
        return EMPTY
    least, most = values
    return f"{least:,}" if least == most else say(Sentence("{least:,} to {most:,}", least=least, most=most))
