"""Where one server's sockets are: a private directory, and in it an ipc address for each receiving end."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...language import Sentence, joined, reason_of
from .errors import StartError

MAX_SOCKET_PATH_BYTES = 100
"""A unix socket's path has 104 bytes on macOS and 108 on Linux; a little is left for the end mark."""

LONGEST_NAME = "tokenizer-999"


@dataclass(frozen=True)
class Addresses:
    """The receiving ends. ``tokenizers`` has one for each worker, so that the front end can choose by uid.

    ``meeting`` is the file by which the ranks of a model find each other.
    """

    frontend: str
    scheduler: str
    detokenizer: str
    tokenizers: tuple[str, ...]
    meeting: str

    @classmethod
    def within(cls, directory: Path, num_tokenizer: int) -> Addresses:
        """The addresses in ``directory``. With ``num_tokenizer`` 0, texts go to the detokenizer's worker."""

        def ipc(name: str) -> str:
            return f"ipc://{directory / name}"

        own = tuple(ipc(f"tokenizer-{i}") for i in range(num_tokenizer))
        tokenizers = own or (ipc("detokenizer"),)
        meeting = str(directory / "meeting")
        return cls(ipc("frontend"), ipc("scheduler"), ipc("detokenizer"), tokenizers, meeting)


def choose_directory(parents: Sequence[Path] | None = None) -> Path:
    """Where a private directory can be: a fresh name, of which nothing exists yet.

    It is in the first of ``parents`` (by default the system's temporary directory,
    then ``/tmp``) that can be written and whose path is short enough.

    Raises:
        StartError: there is none.
    """
    reasons = []
    for parent in parents or (Path(tempfile.gettempdir()), Path("/tmp")):
        directory = parent / f"minisgl-{secrets.token_hex(6)}"
        if not os.access(parent, os.W_OK | os.X_OK):
            reasons.append(Sentence("{parent} cannot be written", parent=parent))
        elif len(os.fsencode(directory / LONGEST_NAME)) > MAX_SOCKET_PATH_BYTES:
            reasons.append(Sentence("the path of {parent} is too long for a socket", parent=parent))
        else:
            return directory
    raise StartError(
        Sentence(
            "no directory can hold the server's sockets: {listed}; set TMPDIR to a short path that "
            "can be written",
            listed=joined(", ", reasons),
        )
    )


def make_directory(directory: Path) -> None:
    """Makes the directory, for this user alone, unless another process of the server was faster.

    Raises:
        StartError: it cannot be made.
    """
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise StartError(
            Sentence(
                "{directory} cannot be made: {reason}; set TMPDIR to another folder",
                directory=directory,
                reason=reason_of(error),
            )
        ) from None


def remove_directory(directory: Path) -> None:
    """Removes the directory, even while others still put files there or remove it too."""
    for _ in range(100):
        shutil.rmtree(directory, ignore_errors=True)
        if not directory.exists():
            return
