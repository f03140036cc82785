"""The options of ``serve`` that need more than a line: what they may be, and what they say of themselves."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from ..language import Sentence
from ..server.config import API_KEY_VARIABLE
from .fail import fail

MODEL = "Model"
SCHEDULER = "Scheduler and memory"
STUDY = "Looking inside"
LIMITS = "Limits"
ACCESS = "Access"

LARGEST = 2**31 - 1
"""Of any size or seed: what a table of 32-bit numbers, and every recording, can hold."""

LONGEST_S = 30 * 24 * 3600.0
"""Of any time limit: a month, which is as good as none."""

DEVICE = re.compile(r"cpu|cuda(:\d+)?")
ATTENTIONS = ("auto", "fi", "triton", "sdpa")

ORIGIN = re.compile(r"\*|null|[A-Za-z][A-Za-z0-9+.-]*://[^/?#\s]+")
"""As a browser sends it: nothing else could ever be equal to it."""


def _seconds(what: str, least: float = 0.1) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(
        metavar="SECONDS", min=least, max=LONGEST_S, rich_help_panel=LIMITS, help=what
    )
    return option


def _origins(given: list[str] | None) -> list[str] | None:
    for origin in given or []:
        if not ORIGIN.fullmatch(origin):
            fail(
                Sentence(
                    "--allow-origin {origin!r} is no origin: it has a scheme, a host and perhaps a port, "
                    "and no slash behind, such as http://localhost:3000",
                    origin=origin,
                )
            )
    return given


def _usable_key(key: str | None) -> str | None:
    if key == "":
        # As from a variable that is not set: a server that is open to all would come as a surprise.
        fail(Sentence("--api-key is empty; leave the option out if anyone may ask"))
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        # No header could carry it, so nobody could ask.
        fail(Sentence("--api-key: a key has ASCII letters, digits and signs alone, and no space"))
    return key


def _known_device(device: str | None) -> str | None:
    if device is not None and not DEVICE.fullmatch(device):
        fail(Sentence("--device {device!r} is not known; give cpu, cuda or cuda:N", device=device))
    return device


def _known_attention(attn: str) -> str:
    names = attn.split(",")
    if len(names) > 2 or not set(names) <= set(ATTENTIONS):
        known = ", ".join(ATTENTIONS)
        fail(
            Sentence(
                "--attn {attn!r} is none of {known}, nor two of them for prefill,decode",
                attn=attn,
                known=known,
            )
        )
    return attn


def _count(what: str, least: int = 1) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(min=least, max=LARGEST, rich_help_panel=LIMITS, help=what)
    return option


Device = Annotated[
    str,
    typer.Option(
        callback=_known_device, rich_help_panel=MODEL, help="Where the model runs: cpu, cuda, or cuda:N."
    ),
]
BenchDevice = Annotated[
    str | None,
    typer.Option(
        callback=_known_device,
        help="Where the model runs.",
        show_default="the GPU if torch sees one, else cpu",
    ),
]
Attention = Annotated[
    str,
    typer.Option(
        callback=_known_attention,
        rich_help_panel=SCHEDULER,
        help="Attention on a GPU: auto, fi (FlashInfer), triton or sdpa; or two, for prefill,decode.",
    ),
]
BenchAttention = Annotated[
    str,
    typer.Option(callback=_known_attention, help="auto, fi, triton or sdpa; or two, for prefill,decode."),
]
BacklogLimit = Annotated[
    int, _count("Pieces of an answer that may wait for a slow client; beyond, it gets an error.")
]
BacklogBytes = Annotated[
    int, _count("Bytes of an answer that may wait for a slow client; beyond, it gets an error.")
]
MaxBodyBytes = Annotated[int, _count("Largest body of a request; beyond, 413.")]
MaxBodiesBytes = Annotated[
    int, _count("Bytes of the bodies of all requests; beyond, a large one gets 503 and Retry-After.")
]
MaxPromptChars = Annotated[
    int,
    _count(
        "Longest text of a request, in characters; beyond, 400. The model's context is a bound of its own."
    ),
]
MaxWaiting = Annotated[
    int, _count("Requests that may wait while as many run as can; beyond, 429 and Retry-After.", least=0)
]
BodyTimeout = Annotated[float, _seconds("For a request's body to arrive; beyond, 408.")]
FirstTokenTimeout = Annotated[
    float, _seconds("Until the first token; beyond, the request is ended, with 504.")
]
RequestTimeout = Annotated[
    float, _seconds("For a whole request; beyond, it is ended, with 504 or an error event.")
]
IdleTimeout = Annotated[float, _seconds("That a connection without a request, or with half of one, is kept.")]
WriteTimeout = Annotated[
    float, _seconds("That a client may take nothing of what is sent to it; then it is cut off.")
]
ShutdownTimeout = Annotated[float, _seconds("For what runs to end by itself after a SIGTERM.", least=0.0)]
HungAfter = Annotated[float, _seconds("Without a sign of life from a worker, after which /health says 503.")]
StuckAfter = Annotated[float, _seconds("In one step of a worker, after which /health says 503.")]
ApiKey = Annotated[
    str | None,
    typer.Option(
        envvar=API_KEY_VARIABLE,
        callback=_usable_key,
        rich_help_panel=ACCESS,
        help="What clients must send as 'Authorization: Bearer KEY'. Better put it into the environment: "
        "others on this machine can read a command line.",
        show_default="anyone may ask",
    ),
]
AllowOrigin = Annotated[
    list[str] | None,
    typer.Option(
        callback=_origins,
        metavar="ORIGIN",
        rich_help_panel=ACCESS,
        help="Web pages from there may ask, such as http://localhost:3000, or '*' for all. Repeatable.",
        show_default="none",
    ),
]

DebugEndpoints = Annotated[
    bool,
    typer.Option(
        "--debug-endpoints",
        rich_help_panel=STUDY,
        help="Offer GET /debug/held, which `top` shows: what each process holds for which request.",
    ),
]

Record = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", rich_help_panel=STUDY, help="Record the run to a file that trace can replay."
    ),
]

RecordMessages = Annotated[
    bool, typer.Option("--record-messages", rich_help_panel=STUDY, help="Record every message as well.")
]

RecordMaxBytes = Annotated[
    int,
    typer.Option(
        metavar="BYTES",
        min=0,
        rich_help_panel=STUDY,
        show_default="of any size",
        help="End the recording when its file has so many bytes.",
    ),
]

RecordRotate = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=0,
        max=1000,
        rich_help_panel=STUDY,
        show_default="none",
        help="Go on in a new file instead, and keep the N before it as FILE.1, FILE.2 and so on. "
        "Each can be replayed by itself.",
    ),
]

Redact = Annotated[
    bool,
    typer.Option(
        "--redact",
        rich_help_panel=STUDY,
        help="Record lengths and times, but no text and no token: fit to be given away.",
    ),
]
