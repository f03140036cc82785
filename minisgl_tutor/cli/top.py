"""``minisgl-tutor top``: who holds what for which request in a running server."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from ..language import Sentence, Tongue, sentence_of
from ..server.config import API_KEY_VARIABLE, DEFAULT_URL
from .caller import caller
from .chat import NoPort
from .fail import fail

if TYPE_CHECKING:
    import httpx

    from ..server.operations.audit import Report

EVERY_S = 1.0
SILENCE_S = 10.0
RESIDUE_STATUS = 1


def top(
    context: typer.Context,
    url: Annotated[str, typer.Option(help="Where the server is.")] = DEFAULT_URL,
    once: Annotated[
        bool,
        typer.Option("--once", help="Print one look as plain text and end: status 1 if there is residue."),
    ] = False,
    api_key: Annotated[
        str | None,
        typer.Option(envvar=API_KEY_VARIABLE, help="The server's key, if it has one.", show_default=False),
    ] = None,
    port: NoPort = None,
) -> None:
    """Show who holds what for which request in a running server, once a second, until Ctrl+C.

    The server has to be started with serve --debug-endpoints. What a request that ended
    more than a second ago still has anywhere is residue: a leak, or a step that takes long.
    """
    from .asking import AskError, client_of, explained

    say, url = caller(context).say, url.rstrip("/")
    try:
        with explained(url, SILENCE_S):
            client = client_of(url, api_key, SILENCE_S)
        with client:
            if once:
                report = _ask(client, url)
                _print(report, say)
                raise typer.Exit(RESIDUE_STATUS if report.residue_requests else 0)
            _go_on(client, url, say)
    except AskError as error:
        fail(sentence_of(error))
    except KeyboardInterrupt:
        return


def _go_on(client: httpx.Client, url: str, say: Tongue) -> None:
    """On a terminal each look takes the place of the one before; elsewhere they follow each other."""
    from rich.console import Console
    from rich.live import Live

    from .top_view import drawn

    console = Console(highlight=False)
    if not console.is_terminal or console.is_dumb_terminal:
        while True:
            _print(_ask(client, url), say)
            print(flush=True)
            time.sleep(EVERY_S)
    with Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            live.update(drawn(_ask(client, url), url, console.height, say), refresh=True)
            time.sleep(EVERY_S)


def _print(report: Report, say: Tongue) -> None:
    from .top_view import lines

    for line in lines(report, say):
        print(line)


def _ask(client: httpx.Client, url: str) -> Report:
    """
    Raises:
        AskError: there is no answer, or not this one.
    """
    import msgspec

    from ..server.operations.audit import Report
    from .asking import AskError, check_answer, explained
    from .program import program

    with explained(url, SILENCE_S):
        answer = client.get(f"{url}/debug/held")
        if answer.status_code == 404:
            raise AskError(
                Sentence(
                    "the server at {url} does not tell what it holds; start it with `{program} serve "
                    "--debug-endpoints`",
                    url=url,
                    program=program(),
                )
            )
        check_answer(answer)
        try:
            return msgspec.json.decode(answer.content, type=Report)
        except msgspec.DecodeError:
            raise AskError(
                Sentence("what answers at {url} is not a server of this version", url=url)
            ) from None
