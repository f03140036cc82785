"""``minisgl-tutor bench serve``: puts a load on a running server, of this kind or another."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..language import Sentence, reason_of, sentence_of
from ..server.config import DEFAULT_URL
from .caller import caller
from .chat import NoPort
from .fail import fail
from .install import need_bench

if TYPE_CHECKING:
    from ..bench.asks import Encoder
    from ..recording import Recording

LENGTHS = re.compile(r"(\d+)(?:-(\d+))?")
ARRIVALS, REQUESTS, OUTPUT = "Arrivals", "Requests", "Output"
DEFAULT_REQUESTS, DEFAULT_INPUT, DEFAULT_MAX_TOKENS = 64, "100", 128
MAX_INPUT = 1_000_000


def serve(
    context: typer.Context,
    url: Annotated[str, typer.Option(help="Where the server is, with or without /v1.")] = DEFAULT_URL,
    api_key: Annotated[
        str | None, typer.Option(envvar="OPENAI_API_KEY", help="Sent as the bearer token.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="The model to ask for.", show_default="the server's first")
    ] = None,
    completions: Annotated[
        bool, typer.Option("--completions", help="Ask /v1/completions instead of /v1/chat/completions.")
    ] = False,
    requests: Annotated[
        int | None,
        typer.Option(
            min=1, rich_help_panel=ARRIVALS, help="Number of requests.", show_default=str(DEFAULT_REQUESTS)
        ),
    ] = None,
    concurrency: Annotated[
        int | None,
        typer.Option(
            min=1,
            rich_help_panel=ARRIVALS,
            help="So many at a time: the next one is sent when one has ended.",
            show_default="all at once",
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            min=1e-3, rich_help_panel=ARRIVALS, help="So many a second on average, at random (Poisson)."
        ),
    ] = None,
    recording: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=ARRIVALS,
            help="The requests of a recording made with `serve --record`, at the times at which they came.",
        ),
    ] = None,
    input_len: Annotated[
        str | None,
        typer.Option(
            "--input",
            metavar="N or A-B",
            rich_help_panel=REQUESTS,
            help="Words of a prompt, drawn evenly from A to B; with --tokenizer, tokens.",
            show_default=DEFAULT_INPUT,
        ),
    ] = None,
    tokenizer: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            rich_help_panel=REQUESTS,
            help="A directory with the model's tokenizer, to make prompts of a given number of tokens.",
        ),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            min=1,
            rich_help_panel=REQUESTS,
            help="Longest answer.",
            show_default=f"{DEFAULT_MAX_TOKENS}, or as recorded",
        ),
    ] = None,
    ignore_eos: Annotated[
        bool,
        typer.Option(
            "--ignore-eos",
            rich_help_panel=REQUESTS,
            help="Ask for answers of exactly --max-tokens, if the server knows ignore_eos.",
        ),
    ] = False,
    temperature: Annotated[
        float | None, typer.Option(min=0, rich_help_panel=REQUESTS, help="0 is greedy.", show_default="0")
    ] = None,
    seed: Annotated[int, typer.Option(rich_help_panel=REQUESTS, help="Of prompts and arrivals.")] = 0,
    warmup: Annotated[
        int, typer.Option(min=0, rich_help_panel=REQUESTS, help="Requests before the clock starts.")
    ] = 1,
    timeout: Annotated[
        float, typer.Option(min=0.001, rich_help_panel=REQUESTS, help="Seconds that a request may take.")
    ] = 600,
    json_file: Annotated[
        Path | None,
        typer.Option(
            "--json", metavar="FILE", rich_help_panel=OUTPUT, help="Write all figures, and each request's."
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", rich_help_panel=OUTPUT, help="Draw a picture: a .png or .svg file."),
    ] = None,
    port: NoPort = None,
) -> None:
    """Ask a running server many things, and measure throughput and latencies as its clients see them.

    Works with any server that speaks the OpenAI protocol.
    """
    need_bench(Sentence("measuring a server"), "aiohttp")
    say = caller(context).say
    _check_plot(plot)
    if sum(given is not None for given in (concurrency, rate, recording)) > 1:
        fail(Sentence("give one of --concurrency, --rate and --recording, not several"))
    if recording is not None and (requests or input_len or tokenizer or completions):
        fail(
            Sentence(
                "--requests, --input, --tokenizer and --completions do not go with --recording, "
                "which has requests of its own"
            )
        )
    from ..bench.asks import (
        CHAT,
        COMPLETIONS,
        Ask,
        Shape,
        answerable,
        draw_asks,
        left_out,
        poisson,
        recorded_asks,
    )
    from ..bench.figures import first_failures
    from ..bench.online import NoServer, Target, Way, measure, report
    from .bench_table import print_result, shown_progress

    limit = max_tokens or DEFAULT_MAX_TOKENS
    shape = Shape(
        not completions, *_lengths(input_len or DEFAULT_INPUT), limit, ignore_eos, temperature or 0.0
    )
    encoder = _load_tokenizer(tokenizer)
    recorded = None if recording is None else _read(recording)

    def make_asks(name: str) -> list[Ask]:
        if recorded is not None:
            overrides = {
                "max_tokens": max_tokens,
                "ignore_eos": ignore_eos or None,
                "temperature": temperature,
            }
            return recorded_asks(recorded, name, {k: v for k, v in overrides.items() if v is not None})
        asks = draw_asks(shape, name, requests or DEFAULT_REQUESTS, seed, encoder)
        return asks if rate is None else poisson(asks, rate, seed)

    def make_warmup(name: str) -> list[Ask]:
        # Of another seed, so that no prefix cache knows the prompts that are measured.
        return draw_asks(shape, name, warmup, seed + 1, encoder)

    way = Way(make_asks, make_warmup, rate is not None or recorded is not None, concurrency)
    try:
        total = len(list(answerable(recorded))) if recorded else requests or DEFAULT_REQUESTS
        with shown_progress(total, say) as watcher:
            run = asyncio.run(measure(Target(url, api_key, model, timeout), way, watcher))
    except NoServer as error:
        fail(sentence_of(error), status=1)
    options = {
        "url": url,
        "path": "as recorded" if recorded else CHAT if shape.chat else COMPLETIONS,
        "arrivals": _arrivals(concurrency, rate, recording),
        "input": "as recorded"
        if recorded
        else f"{input_len or DEFAULT_INPUT} {'tokens' if encoder else 'words'}",
        "max_tokens": max_tokens or ("as recorded" if recorded else limit),
        "ignore_eos": ignore_eos,
        "temperature": temperature,
        "seed": seed,
        "left_out_of_recording": left_out(recorded) if recorded else 0,
    }
    result = report(run, options)
    print_result(result, first_failures(run.answers), say)
    if json_file is not None:
        _write(
            json_file, "--json", lambda file: file.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
        )
    if plot is not None:
        from ..bench.plot import draw

        title = f"{run.model}: {result['whole']} answers, {options['arrivals']}"
        _write(plot, "--plot", lambda file: draw(run.answers, title, file))
    if not result["whole"]:
        raise typer.Exit(1)


def _check_plot(plot: Path | None) -> None:
    if plot is None:
        return
    need_bench(Sentence("drawing a picture"), "matplotlib")
    if plot.suffix not in (".png", ".svg"):
        fail(Sentence("--plot {file} must end in .png or .svg", file=plot))


def _lengths(given: str) -> tuple[int, int]:
    found = LENGTHS.fullmatch(given)
    if found is None:
        fail(Sentence("--input {given!r} is not a number such as 100, nor two such as 100-1024", given=given))
    shortest, longest = int(found[1]), int(found[2] or found[1])
    if not 1 <= shortest <= longest <= MAX_INPUT:
        fail(
            Sentence(
                "--input {given} must be from 1 to {most:,}, the smaller one first",
                given=given,
                most=MAX_INPUT,
            )
        )
    return shortest, longest


def _load_tokenizer(directory: Path | None) -> Encoder | None:
    if directory is None:
        return None
    from ..tokenizer.load import TokenizerNotFound, load_tokenizer

    try:
        return load_tokenizer(directory)
    except TokenizerNotFound as error:
        fail(sentence_of(error), status=1)


def _read(file: Path) -> Recording:
    from ..bench.asks import answerable
    from ..recording import RecordingError, read_recording

    try:
        recording = read_recording(file)
    except RecordingError as error:
        fail(sentence_of(error), status=1)
    if not any(answerable(recording)):
        fail(Sentence("{file} has no request for an answer", file=file), status=1)
    return recording


def _arrivals(concurrency: int | None, rate: float | None, recording: Path | None) -> str:
    if recording is not None:
        return f"as in {recording.name}"
    if rate is not None:
        return f"{rate:g} a second on average"
    return "all at once" if concurrency is None else f"{concurrency} at a time"


def _write(file: Path, option: str, write: Callable[[Path], object]) -> None:
    try:
        write(file)
    except OSError as error:
        fail(
            Sentence(
                "{option} {file} cannot be written: {reason}",
                option=option,
                file=file,
                reason=reason_of(error),
            ),
            status=1,
        )
