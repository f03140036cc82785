"""Where one server's sockets are: a private directory, and in it an ipc address for each receiving end."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .errors import StartError

MAX_SOCKET_PATH_BYTES = 100
"""A unix socket's path has 104 bytes on macOS and 108 on Linux; a little is left for the end mark."""

LONGEST_NAME = "tokenizer-999"


@dataclass(frozen=True)
class Addresses:
    """The receiving ends. ``tokenizers`` has one for each worker, so that the front end can choose by uid."""

    frontend: str
    scheduler: str
    detokenizer: str
    tokenizers: tuple[str, ...]

    @classmethod
    def within(cls, directory: Path, num_tokenizer: int) -> Addresses:
        """The addresses in ``directory``. With ``num_tokenizer`` 0, texts go to the detokenizer's worker."""

        def ipc(name: str) -> str:
            return f"ipc://{directory / name}"

        own = tuple(ipc(f"tokenizer-{i}") for i in range(num_tokenizer))
        return cls(ipc("frontend"), ipc("scheduler"), ipc("detokenizer"), own or (ipc("detokenizer"),))


@contextmanager
def private_directory(parents: Sequence[Path] | None = None) -> Iterator[Path]:
    """A new directory that only this user can enter; it is gone afterwards.

    It is made in the first of ``parents`` (by default the system's temporary
    directory, then ``/tmp``) whose path is short enough and that can be written.

    Raises:
        StartError: there is none.
    """
    directory = _make(parents or (Path(tempfile.gettempdir()), Path("/tmp")))
    try:
        yield directory
    finally:
        remove_directory(directory)


def remove_directory(directory: Path) -> None:
    """Removes the directory, even while others still put files there or remove it too."""
    for _ in range(100):
        shutil.rmtree(directory, ignore_errors=True)
        if not directory.exists():
            return


def _make(parents: Sequence[Path]) -> Path:
    reasons = []
    for parent in parents:
        try:
            directory = Path(tempfile.mkdtemp(prefix="minisgl-", dir=parent))
        except OSError as error:
            reasons.append(f"{parent}: {error.strerror}")
            continue
        if len(str(directory / LONGEST_NAME).encode()) <= MAX_SOCKET_PATH_BYTES:
            return directory
        directory.rmdir()
        reasons.append(f"{parent}: the path is too long for a socket")
    raise StartError(
        f"no directory can hold the server's sockets ({'; '.join(reasons)}); "
        "set TMPDIR to a short path that can be written"
    )
