"""``minisgl-tutor serve``: the server, for real."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from ..gaps.registry import UnknownGap, resolve
from ..server.config import SchedulerConfig, ServerArgs
from .fail import fail
from .install import need_engine
from .program import program

MODEL = "Model"
SCHEDULER = "Scheduler and memory"
STUDY = "Looking inside"

LARGEST = 2**31 - 1
"""Of any size or seed: what a table of 32-bit numbers, and every recording, can hold."""


class Dtype(StrEnum):
    bfloat16 = "bfloat16"
    float16 = "float16"
    float32 = "float32"


class KVCacheDtype(StrEnum):
    auto = "auto"
    fp8 = "fp8"


class ModelSource(StrEnum):
    huggingface = "huggingface"
    modelscope = "modelscope"


class Cache(StrEnum):
    radix = "radix"
    naive = "naive"


class Admission(StrEnum):
    optimistic = "optimistic"
    reserve = "reserve"


class LogLevel(StrEnum):
    debug = "debug"
    info = "info"
    warning = "warning"
    error = "error"


def serve(
    context: typer.Context,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="PATH_OR_ID",
            rich_help_panel=MODEL,
            help="A directory, a GGUF file or a hub id; without it, the small model that ships.",
        ),
    ] = None,
    model_source: Annotated[
        ModelSource, typer.Option(rich_help_panel=MODEL, help="The hub that a hub id is looked up at.")
    ] = ModelSource.huggingface,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for any free one.")
    ] = 1919,
    num_tokenizer: Annotated[
        int,
        typer.Option(
            min=0, max=64, help="Tokenizer processes; 0 leaves tokenizing to the detokenizer's process."
        ),
    ] = 1,
    shell: Annotated[
        bool, typer.Option("--shell", help="Chat in this terminal; the end of the chat ends the server.")
    ] = False,
    device: Annotated[str, typer.Option(rich_help_panel=MODEL, help="Where the model runs.")] = "cpu",
    tp: Annotated[
        int,
        typer.Option(
            min=1,
            max=1024,
            rich_help_panel=MODEL,
            help="Divide each layer of the model among so many GPUs, or processes on a CPU (tensor "
            "parallelism). On several machines, start it on each with torchrun.",
        ),
    ] = 1,
    dtype: Annotated[
        Dtype, typer.Option(rich_help_panel=MODEL, help="Type of weights and K/V cache.")
    ] = Dtype.bfloat16,
    kv_cache_dtype: Annotated[
        KVCacheDtype,
        typer.Option(
            rich_help_panel=SCHEDULER,
            help="fp8 holds twice the tokens in the K/V cache, a little less exactly; auto is as --dtype.",
        ),
    ] = KVCacheDtype.auto,
    dummy_weight: Annotated[
        bool,
        typer.Option(
            "--dummy-weight", rich_help_panel=MODEL, help="Random weights: only the model's config is needed."
        ),
    ] = False,
    threads: Annotated[
        int | None,
        typer.Option(
            min=1, max=1024, rich_help_panel=MODEL, help="CPU threads of the model.", show_default="all cores"
        ),
    ] = None,
    page_size: Annotated[
        int,
        typer.Option(min=1, max=256, rich_help_panel=SCHEDULER, help="Tokens in one page of the K/V cache."),
    ] = 16,
    num_pages: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=LARGEST,
            rich_help_panel=SCHEDULER,
            help="Pages of the K/V cache.",
            show_default="from the memory",
        ),
    ] = None,
    attn: Annotated[
        str,
        typer.Option(
            rich_help_panel=SCHEDULER,
            help="Attention on a GPU: auto, fi (FlashInfer), triton or sdpa; or two, for prefill,decode.",
        ),
    ] = "auto",
    memory_ratio: Annotated[
        float,
        typer.Option(
            min=0.05,
            max=0.98,
            rich_help_panel=SCHEDULER,
            help="Part of a GPU's memory that weights and K/V cache may take.",
        ),
    ] = 0.85,
    cuda_graph_max_bs: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=1024,
            rich_help_panel=SCHEDULER,
            help="Decode steps of up to so many requests are captured on a GPU; 0 for none.",
            show_default="all, to 256",
        ),
    ] = None,
    max_running_req: Annotated[
        int,
        typer.Option(
            "--max-running-req",
            "--max-running-requests",
            min=1,
            max=4096,
            rich_help_panel=SCHEDULER,
            help="Requests that run at once.",
        ),
    ] = 64,
    max_seq_len: Annotated[
        int | None,
        typer.Option(
            min=2,
            max=LARGEST,
            rich_help_panel=SCHEDULER,
            help="Tokens of one request, prompt and answer.",
            show_default="from the model",
        ),
    ] = None,
    prefill_budget: Annotated[
        int,
        typer.Option(
            min=1,
            max=LARGEST,
            rich_help_panel=SCHEDULER,
            help="Prompt tokens in one prefill step; a longer prompt is computed in chunks.",
        ),
    ] = 2048,
    cache: Annotated[
        Cache,
        typer.Option(
            rich_help_panel=SCHEDULER, help="Prefix cache: radix shares beginnings, naive shares nothing."
        ),
    ] = Cache.radix,
    admission: Annotated[
        Admission,
        typer.Option(
            rich_help_panel=SCHEDULER,
            help="reserve lets a request in only if its longest answer fits into the K/V cache; optimistic "
            "lets more run at once, and computes the youngest again if the cache runs full.",
        ),
    ] = Admission.optimistic,
    overlap: Annotated[
        bool,
        typer.Option(
            "--overlap/--no-overlap", rich_help_panel=SCHEDULER, help="Schedule the next step while one runs."
        ),
    ] = True,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=LARGEST,
            rich_help_panel=SCHEDULER,
            help="Makes sampling without a seed of its own repeatable.",
            show_default="random",
        ),
    ] = None,
    backlog_limit: Annotated[
        int,
        typer.Option(
            min=1,
            max=LARGEST,
            rich_help_panel=SCHEDULER,
            help="Pieces of an answer that may wait for a slow client; beyond, it gets an error.",
        ),
    ] = 4096,
    step_ms: Annotated[
        int,
        typer.Option(
            min=0,
            max=60_000,
            rich_help_panel=STUDY,
            help="Let each step of the model take at least this long, so that you can watch.",
        ),
    ] = 0,
    gap: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel=STUDY,
            help="Serve with a cleanup gap of the reference, or 'reference' for all. Repeatable.",
        ),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", rich_help_panel=STUDY, help="Record the run to a file that trace can replay."
        ),
    ] = None,
    record_messages: Annotated[
        bool,
        typer.Option("--record-messages", rich_help_panel=STUDY, help="Record every message as well."),
    ] = False,
    log_level: Annotated[
        LogLevel | None,
        typer.Option(
            rich_help_panel=STUDY, help="What the log tells.", show_default="info; warning with --shell"
        ),
    ] = None,
) -> None:
    """Run the server: an OpenAI-style HTTP API over tokenizer, scheduler and detokenizer processes.

    Ctrl+C or SIGTERM stops it within a few seconds: streams that are open get an
    error event, and the exit status is 0. If a worker dies it stops the same way,
    with status 1.
    """
    args = ServerArgs(
        model=model,
        model_source=model_source.value,
        host=host,
        port=port,
        num_tokenizer=num_tokenizer,
        device=device,
        tp=tp,
        dtype=dtype.value,
        kv_cache_dtype=kv_cache_dtype.value,
        dummy_weight=dummy_weight,
        threads=threads,
        page_size=page_size,
        num_pages=num_pages,
        attn=attn,
        memory_ratio=memory_ratio,
        cuda_graph_max_bs=cuda_graph_max_bs,
        max_running_req=max_running_req,
        max_seq_len=max_seq_len,
        backlog_limit=backlog_limit,
        step_ms=step_ms,
        scheduler=SchedulerConfig(prefill_budget, cache.value, overlap, seed, admission.value),
        gaps=_known_gaps(gap or []),
        record=_writable(record),
        record_messages=record_messages,
        log_level=_log_level(log_level, bool(context.obj), shell),
    )
    need_engine("serving a model")
    from ..server.errors import StartError
    from ..server.launch import launch_server

    try:
        status = launch_server(args, run_shell=shell, program=program())
    except StartError as error:
        fail(str(error), status=1)
    _say_end(status, shell, args.record)
    raise typer.Exit(status)


def _say_end(status: int, shell: bool, record: str | None) -> None:
    """On standard error, as the log is; the shell that started this shows its prompt below."""
    if status != 1 and not shell:
        typer.echo("\nstopped", err=True)  # below the ^C of a terminal
    if record is not None and Path(record).is_file() and Path(record).stat().st_size:
        typer.echo(f"{record}: play it with `{program()} trace {shlex.quote(record)}`", err=True)


def _log_level(
    given: LogLevel | None, verbose: bool, shell: bool
) -> Literal["debug", "info", "warning", "error"]:
    if verbose:
        return "debug"
    if given is not None:
        return given.value
    return "warning" if shell else "info"


def _known_gaps(names: list[str]) -> tuple[str, ...]:
    try:
        return resolve(names)
    except UnknownGap as error:
        raise typer.BadParameter(str(error), param_hint="--gap") from None


def _writable(file: Path | None) -> str | None:
    if file is None:
        return None
    try:
        with file.open("ab"):
            pass
    except OSError as error:
        raise typer.BadParameter(
            f"{file} cannot be written: {error.strerror}", param_hint="--record"
        ) from None
    return str(file)
