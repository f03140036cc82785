"""``minisgl-tutor bench``: what this machine reaches."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Annotated, Any

import typer

from ..language import Sentence, Tongue, joined, sentence_of
from ..server.config import Dtype, KVCacheDtype, ModelSource
from .bench_serve import serve
from .caller import caller
from .fail import fail
from .install import need_engine
from .profile_table import tell_profile
from .serve_checks import writable
from .serve_options import BenchAttention, BenchDevice
from .speaking import Command, Group

bench = typer.Typer(cls=Group, help="Measure what this machine, or a server, reaches.", no_args_is_help=True)
bench.command(cls=Command)(serve)


@bench.callback()
def benchmarks() -> None:
    """Measure what this machine, or a server, reaches."""


@bench.command(cls=Command)
def offline(
    context: typer.Context,
    model: Annotated[
        str | None,
        typer.Option(metavar="PATH_OR_ID", help="As for serve; without it, the small model that ships."),
    ] = None,
    model_source: Annotated[ModelSource, typer.Option(help="As for serve.")] = "huggingface",
    dummy_weight: Annotated[bool, typer.Option("--dummy-weight", help="Random weights.")] = False,
    device: BenchDevice = None,
    tp: Annotated[int, typer.Option(min=1, help="As for serve.")] = 1,
    dtype: Annotated[Dtype, typer.Option(help="Type of weights and K/V cache.")] = "bfloat16",
    kv_cache_dtype: Annotated[KVCacheDtype, typer.Option(help="As for serve.")] = "auto",
    attn: BenchAttention = "auto",
    page_size: Annotated[int, typer.Option(min=1, max=256, help="Tokens in one page.")] = 64,
    memory_ratio: Annotated[float, typer.Option(min=0.05, max=0.98, help="Part of the GPU's memory.")] = 0.85,
    cuda_graph_max_bs: Annotated[int, typer.Option(min=0, help="Largest captured step; 0: none.")] = 256,
    overlap: Annotated[bool, typer.Option("--overlap/--no-overlap", help="As for serve.")] = True,
    prefill_budget: Annotated[int, typer.Option(min=1, help="Prompt tokens in one step.")] = 16_384,
    max_seq_len: Annotated[
        int | None,
        typer.Option(min=2, help="Tokens of one request.", show_default="4096, or what the model can"),
    ] = None,
    sequences: Annotated[int, typer.Option(min=1, help="Sequences, all at once.")] = 256,
    max_input: Annotated[int, typer.Option(min=100, help="Longest input.")] = 1024,
    max_output: Annotated[int, typer.Option(min=100, help="Longest output.")] = 1024,
    temperature: Annotated[float, typer.Option(min=0, help="0 is greedy.")] = 0.6,
    runs: Annotated[int, typer.Option(min=1, help="Timed runs, after one that is not.")] = 5,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a JSON file with all of it.")
    ] = None,
    profile: Annotated[Path | None, typer.Option(metavar="FILE", help="As for serve; of all runs.")] = None,
    torch_profile: Annotated[Path | None, typer.Option(metavar="DIR", help="As for serve.")] = None,
) -> None:
    """Generate for many sequences at once, as fast as it goes: output tokens per second.

    256 sequences, 100 to 1024 tokens in and out, lengths drawn with seed 0.
    """
    say = caller(context).say
    need_engine(Sentence("generating text"))
    for option, file in (("--out", out), ("--profile", profile)):
        writable(file, option)
    from ..engine.process import prepare_process

    prepare_process(None)
    import torch

    from ..bench.offline import draw_workload, measure, report
    from ..engine.base import EngineError
    from ..llm import LLM
    from ..models.config import load_model_config
    from ..models.errors import ModelError
    from ..models.resolve import resolve_model
    from ..server.config import SchedulerConfig
    from ..tokenizer.load import TokenizerNotFound

    try:
        config = load_model_config(resolve_model(model, dtype, model_source))
    except ModelError as error:
        fail(sentence_of(error), status=1)
    options: dict[str, Any] = {
        "device": device or ("cuda" if torch.cuda.is_available() else "cpu"),
        "tp": tp,
        "dtype": dtype,
        "kv_cache_dtype": kv_cache_dtype,
        "dummy_weight": dummy_weight,
        "attn": attn,
        "page_size": page_size,
        "memory_ratio": memory_ratio,
        "cuda_graph_max_bs": cuda_graph_max_bs,
        "max_seq_len": max_seq_len or min(4096, config.max_positions),
        "max_running_req": sequences,
    }
    watched = {
        "profile": profile and str(profile),
        "torch_profile": torch_profile and str(torch_profile),
    }
    scheduler = SchedulerConfig(prefill_budget=prefill_budget, overlap=overlap, seed=0)
    try:
        llm = LLM(model, model_source=model_source, scheduler=scheduler, **watched, **options)
    except (ModelError, TokenizerNotFound) as error:
        fail(sentence_of(error), status=1)
    workload = draw_workload(sequences, max_input, max_output)
    tokens = random.Random(1)
    timed = []
    for number in range(runs + 1):
        label = Sentence("warming up")
        if number:
            label = Sentence("run {number} of {runs}", number=number, runs=runs)
        try:
            with _bar(label, sum(workload.outputs), say) as progress:
                run = measure(llm, workload, temperature, tokens, progress)
        except EngineError as error:
            fail(sentence_of(error), status=1)
        if number:
            timed.append(run)
            speed = Sentence(
                "{label}: {speed:,.0f} tokens/s, {time:.3f} s", label=label, speed=run.tok_s, time=run.time_s
            )
            typer.echo(say(speed))
    name = Path(model).name if model else "minisgl-tutor"
    options |= {
        "model": name,
        "overlap": overlap,
        "prefill_budget": prefill_budget,
        "temperature": temperature,
    }
    llm.close()
    if profile is not None:
        tell_profile(profile, say)
    result = report(llm, config, workload, timed, options)
    typer.echo(say(_summary(result)))
    if out is not None:
        out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def _bar(label: Sentence, total: int, say: Tongue) -> Any:
    """A progress bar as a context manager, which gives the function that moves it on."""
    from contextlib import contextmanager

    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    @contextmanager
    def shown() -> Any:
        columns = (
            TextColumn(say(label)),
            BarColumn(),
            TextColumn("{task.completed:,} tokens"),
            TimeElapsedColumn(),
        )
        with Progress(*columns, transient=True, refresh_per_second=4) as bars:
            task = bars.add_task("", total=total)
            yield lambda count: bars.advance(task, count)

    return shown()


def _summary(result: dict[str, Any]) -> Sentence:
    parts = [Sentence("median {median:,.0f} tokens/s ({lowest:,.0f} to {highest:,.0f})", **result["tok_s"])]
    if "ratio_to_peer" in result:
        parts.append(Sentence("{ratio:.2f} times mini-sglang", ratio=result["ratio_to_peer"]))
    if "ratio_to_floor" in result:
        floor = result["ratio_to_floor"]
        parts.append(Sentence("{ratio:.2f} of what memory and arithmetic allow", ratio=floor))
    return joined(", ", parts)
