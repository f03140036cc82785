"""``minisgl-tutor serve``: the server, for real."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..language import Sentence, sentence_of
from ..server.config import (
    AdmissionPolicy,
    AllReduce,
    CachePolicy,
    Dtype,
    KVCacheDtype,
    Limits,
    LogLevel,
    ModelSource,
    ServerArgs,
)
from . import serve_options as options
from .caller import caller
from .fail import fail
from .install import need_engine
from .program import program
from .serve_checks import say_end, server_args
from .serve_options import LARGEST, MODEL, SCHEDULER, STUDY


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
    ] = "huggingface",
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
    device: options.Device = "cpu",
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
    all_reduce: Annotated[
        AllReduce,
        typer.Option(
            rich_help_panel=MODEL,
            help="How GPUs sum their results: auto lets two read small ones directly from each other's "
            "memory, nccl never does.",
        ),
    ] = "auto",
    dtype: Annotated[
        Dtype, typer.Option(rich_help_panel=MODEL, help="Type of weights and K/V cache.")
    ] = "bfloat16",
    kv_cache_dtype: Annotated[
        KVCacheDtype,
        typer.Option(
            rich_help_panel=SCHEDULER,
            help="fp8 holds twice the tokens in the K/V cache, a little less exactly; auto is as --dtype.",
        ),
    ] = "auto",
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
    attn: options.Attention = "auto",
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
        CachePolicy,
        typer.Option(
            rich_help_panel=SCHEDULER, help="Prefix cache: radix shares beginnings, naive shares nothing."
        ),
    ] = "radix",
    admission: Annotated[
        AdmissionPolicy,
        typer.Option(
            rich_help_panel=SCHEDULER,
            help="reserve lets a request in only if its longest answer fits into the K/V cache; optimistic "
            "lets more run at once, and computes the youngest again if the cache runs full.",
        ),
    ] = "optimistic",
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
    api_key: options.ApiKey = None,
    allow_origin: options.AllowOrigin = None,
    max_body_bytes: options.MaxBodyBytes = Limits.max_body_bytes,
    max_bodies_bytes: options.MaxBodiesBytes = Limits.max_bodies_bytes,
    max_prompt_chars: options.MaxPromptChars = Limits.max_prompt_chars,
    max_waiting: options.MaxWaiting = Limits.max_waiting,
    backlog_limit: options.BacklogLimit = ServerArgs.backlog_limit,
    backlog_bytes: options.BacklogBytes = ServerArgs.backlog_bytes,
    body_timeout: options.BodyTimeout = Limits.body_timeout,
    first_token_timeout: options.FirstTokenTimeout = Limits.first_token_timeout,
    request_timeout: options.RequestTimeout = Limits.request_timeout,
    idle_timeout: options.IdleTimeout = Limits.idle_timeout,
    write_timeout: options.WriteTimeout = Limits.write_timeout,
    shutdown_timeout: options.ShutdownTimeout = Limits.shutdown_timeout,
    hung_after: options.HungAfter = Limits.hung_after,
    stuck_after: options.StuckAfter = Limits.stuck_after,
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
            help="Serve with a fault of those that `gaps` lists; 'reference' stands for all in which "
            "something is left behind, 'observed' for all of the reference. Repeatable.",
        ),
    ] = None,
    debug_endpoints: options.DebugEndpoints = False,
    record: options.Record = None,
    record_messages: options.RecordMessages = False,
    record_max_bytes: options.RecordMaxBytes = 0,
    record_rotate: options.RecordRotate = 0,
    redact: options.Redact = False,
    profile: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=STUDY,
            help="Write where the scheduler's time goes, for Perfetto, and a table of it at the end.",
        ),
    ] = None,
    torch_profile: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", rich_help_panel=STUDY, help="Write torch's trace of 32 steps, behind the first 16."
        ),
    ] = None,
    log_level: Annotated[
        LogLevel | None,
        typer.Option(
            rich_help_panel=STUDY, help="What the log tells.", show_default="info; warning with --shell"
        ),
    ] = None,
) -> None:
    """Run the server: an OpenAI-style HTTP API over tokenizer, scheduler and detokenizer processes.

    Ctrl+C stops it within a few seconds: streams that are open get an error event, and
    the exit status is 0. SIGTERM lets what runs end first, for --shutdown-timeout. A
    second one ends all at once, with 128 and the signal's number. If a worker dies the
    server stops as by Ctrl+C, with status 1.
    """
    given = dict(locals())
    who = caller(context)
    args = server_args(given, who.verbose)
    need_engine(Sentence("serving a model"))
    from ..server.processes.launch import launch_server
    from ..server.workers.errors import StartError

    try:
        status = launch_server(args, run_shell=shell, program=program(), say=who.say)
    except StartError as error:
        fail(sentence_of(error), status=1)
    say_end(status, shell, args.record, args.profile, who.say)
    raise typer.Exit(status)
