"""What whoever starts a server reads: progress on a terminal, plain lines elsewhere, the ready line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console

from ...language import Sentence, Tongue
from ..config import DEFAULT_URL

Update = Callable[[Sentence], None]


@contextmanager
def progress(line: Sentence, say: Tongue) -> Iterator[Update]:
    """Shows on stderr what is being done. On a terminal each line takes the place of the one before."""
    console = Console(stderr=True, highlight=False, markup=False)
    if console.is_terminal:
        with console.status(say(line)) as status:
            yield lambda line: status.update(say(line))
    else:
        console.print(say(line), soft_wrap=True)
        yield lambda line: console.print(say(line), soft_wrap=True)


def ready_line(url: str, model: str) -> Sentence:
    return Sentence("minisgl-tutor is ready at {url}, serving {model}.", url=url, model=model)


def record_line(file: str) -> Sentence:
    return Sentence("Recording to {file}", file=file)


def gaps_line(gaps: Sequence[str], program: str) -> Sentence:
    return Sentence(
        "With faults that were asked for: {names} (`{program} gaps` explains them)",
        names=", ".join(gaps),
        program=program,
    )


def top_line(url: str, program: str) -> Sentence:
    command = f"{program} top {_where(url)}".rstrip()
    return Sentence("To see who holds what for which request:\n  {command}", command=command)


def usage(url: str, model: str, program: str) -> Sentence:
    """Two commands that ask the server, to be pasted into another terminal.

    ``program`` is how the reader calls this program there.
    """
    chat, question = f"{program} chat {_where(url)}", Sentence("What is a KV cache?")
    return Sentence(
        'Ask it from another terminal:\n  {chat}"{question}"\n'
        "or with any other client:\n"
        "  curl -N {url}/v1/chat/completions \\\n"
        "    -H 'Content-Type: application/json' \\\n"
        '    -d \'{{"model": "{model}", "stream": true, "max_tokens": 128,\n'
        '         "messages": [{{"role": "user", "content": "{question}"}}]}}\'\n'
        "Ctrl+C stops it.",
        chat=chat,
        question=question,
        url=url,
        model=model,
    )


def _where(url: str) -> str:
    return "" if url == DEFAULT_URL else f"--url {url} "
