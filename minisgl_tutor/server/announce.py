"""What whoever starts a server reads: progress on a terminal, plain lines elsewhere, the ready line."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType

from rich.console import Console
from rich.status import Status


class Announcer:
    """Progress goes to stderr, the ready line to stdout. Leaving the context clears the progress."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._waiting: list[str] = []
        self._stack = ExitStack()
        self._status: Status | None = None

    def __enter__(self) -> Announcer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def starting(self, names: list[str]) -> None:
        self._waiting = list(names)
        if self._console.is_terminal:
            self._status = self._stack.enter_context(self._console.status(self._line()))
        else:
            self._print(self._line())

    def ready(self, name: str) -> None:
        self._waiting.remove(name)
        if self._status is not None:
            self._status.update(self._line())
        else:
            self._print(f"{name} is ready")

    def serving(self, url: str, model: str) -> None:
        self._stack.close()
        ready = f"minisgl-tutor is ready at {url}, serving {model}. Ask it:"
        print(f"{ready}\n{curl_example(url, model)}\nCtrl+C stops it.", flush=True)

    def _line(self) -> str:
        return "starting " + ", ".join(self._waiting)

    def _print(self, line: str) -> None:
        self._console.print(line, soft_wrap=True, markup=False)


def curl_example(url: str, model: str) -> str:
    """A command that can be pasted into another terminal."""
    return (
        f"  curl -N {url}/v1/chat/completions -H 'Content-Type: application/json' \\\n"
        f'    -d \'{{"model": "{model}", "stream": true, "max_tokens": 128, '
        '"messages": [{"role": "user", "content": "What is a KV cache?"}]}\''
    )
