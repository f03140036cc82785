"""``minisgl-tutor chat``: asks a running server over HTTP, like any other client."""

from __future__ import annotations

import re
import shutil
import sys
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Annotated

import typer

from ..language import Sentence, Tongue, sentence_of
from ..server.config import API_KEY_VARIABLE, DEFAULT_URL
from .caller import caller
from .fail import fail
from .told import tell
from .wrap import Wrap

if TYPE_CHECKING:
    from .conversation import Conversation

COMMAND = re.compile(r"/\w*(?!\S)")
BANNER = Sentence("Talking to {model}. Ctrl+C stops an answer, /new starts anew, /exit ends.")
NO_COMMAND = Sentence("{line} is not a command; /new starts anew, /exit ends")
CUT_OFF = Sentence("[cut off at its limit; --max-tokens allows longer answers]")


def _not_by_port(port: str | None) -> None:
    if port is not None:
        fail(
            Sentence(
                "--port is an option of serve; say where the server is by --url http://127.0.0.1:{port}",
                port=port,
            )
        )


NoPort = Annotated[str | None, typer.Option("--port", hidden=True, callback=_not_by_port)]
"""Whoever has started a server with --port tries the same here."""


def chat(
    context: typer.Context,
    question: Annotated[
        str | None, typer.Argument(help="Ask this, then end. Without it: a conversation.", show_default=False)
    ] = None,
    url: Annotated[str, typer.Option(help="Where the server is.")] = DEFAULT_URL,
    system: Annotated[
        str | None,
        typer.Option(help="An instruction that stands before the conversation.", show_default=False),
    ] = None,
    api_key: Annotated[
        str | None,
        typer.Option(envvar=API_KEY_VARIABLE, help="The server's key, if it has one.", show_default=False),
    ] = None,
    max_tokens: Annotated[int, typer.Option(min=1, help="Longest answer, in tokens.")] = 256,
    temperature: Annotated[float, typer.Option(min=0.0, help="0 takes the likeliest token each time.")] = 0.0,
    port: NoPort = None,
) -> None:
    """Ask a running server, once or in a conversation.

    In a conversation Ctrl+C stops an answer; /new forgets what was said; /exit ends.
    """
    from .asking import AskError
    from .conversation import Conversation

    say = caller(context).say
    try:
        with Conversation(url, system, max_tokens, temperature, api_key) as conversation:
            if question is not None:
                _answer(conversation, question, say)
            else:
                _converse(conversation, say)
    except AskError as error:
        sys.stdout.flush()
        fail(sentence_of(error), status=1)


def _converse(conversation: Conversation, say: Tongue) -> None:
    from .asking import AskError

    model = conversation.model()
    terminal = sys.stdin.isatty()
    if terminal:
        with suppress(ImportError):
            import readline  # noqa: F401  (input() then edits its line and knows the earlier ones)
        tell(say(BANNER.with_values(model=model)))
    while True:
        try:
            line = input("> " if terminal else "").strip()
        except EOFError:
            break
        except KeyboardInterrupt:
            print()
            continue
        if line == "/exit":
            return
        if line == "/new":
            conversation.forget()
        elif COMMAND.match(line):
            tell(say(NO_COMMAND.with_values(line=line)), err=True)
        elif line:
            try:
                _answer(conversation, line, say)
            except KeyboardInterrupt:
                print(say(Sentence(" [stopped]")))
            except AskError as error:
                tell(say(Sentence("Error: {what}", what=sentence_of(error))), err=True)
    if terminal:
        print()


def _answer(conversation: Conversation, question: str, say: Tongue) -> None:
    # A file or a pipe gets the text as it came.
    wrap = Wrap(shutil.get_terminal_size().columns) if sys.stdout.isatty() else None
    with closing(conversation.ask(question)) as pieces:
        for piece in pieces:
            print(wrap.feed(piece) if wrap else piece, end="", flush=True)
    print(wrap.end() if wrap else "")
    if conversation.finish_reason == "length":
        tell(say(CUT_OFF), err=True)
