"""What whoever starts a server reads: progress on a terminal, plain lines elsewhere, the ready line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console

from ..config import ServerArgs

DEFAULT_URL = f"http://{ServerArgs.host}:{ServerArgs.port}"
"""Where chat asks without being told."""

Update = Callable[[str], None]


@contextmanager
def progress(line: str) -> Iterator[Update]:
    """Shows on stderr what is being done. On a terminal each line takes the place of the one before."""
    console = Console(stderr=True, highlight=False, markup=False)
    if console.is_terminal:
        with console.status(line) as status:
            yield status.update
    else:
        console.print(line, soft_wrap=True)
        yield lambda line: console.print(line, soft_wrap=True)


def ready_line(url: str, model: str) -> str:
    return f"minisgl-tutor is ready at {url}, serving {model}."


def record_line(file: str) -> str:
    return f"Recording to {file}"


def gaps_line(gaps: Sequence[str], program: str) -> str:
    return f"With faults that were asked for: {', '.join(gaps)} (`{program} gaps` explains them)"


def top_line(url: str, program: str) -> str:
    return f"To see who holds what for which request:\n  {program} top {_where(url)}".rstrip()


def usage(url: str, model: str, program: str) -> str:
    """Two commands that ask the server, to be pasted into another terminal.

    ``program`` is how the reader calls this program there.
    """
    return (
        f'Ask it from another terminal:\n  {program} chat {_where(url)}"What is a KV cache?"\n'
        "or with any other client:\n"
        f"  curl -N {url}/v1/chat/completions -H 'Content-Type: application/json' \\\n"
        f'    -d \'{{"model": "{model}", "stream": true, "max_tokens": 128, '
        '"messages": [{"role": "user", "content": "What is a KV cache?"}]}\'\n'
        "Ctrl+C stops it."
    )


def _where(url: str) -> str:
    return "" if url == DEFAULT_URL else f"--url {url} "
