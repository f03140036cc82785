"""A recording in several files, the newest under its own name and older ones as ``FILE.1``, ``FILE.2``, ...

Several processes write to it, and any of them may be the one that begins the next
file. Each file begins with the header and can be played by itself.
"""

from __future__ import annotations

import fcntl
import os


def open_to_append(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)


def next_file(path: str, full: int, kept: int) -> int:
    """The descriptor of the file that follows upon ``full``, which is closed; it is begun if there is none.

    ``kept`` older ones stay.

    Raises:
        OSError: there is no room for another. ``full`` stays open.
    """
    fcntl.flock(full, fcntl.LOCK_EX)  # whoever waited for it finds that another has begun the next one
    try:
        if os.path.samestat(os.stat(path), os.fstat(full)):
            _begin_next(path, kept)
        found = open_to_append(path)
    finally:
        fcntl.flock(full, fcntl.LOCK_UN)
    os.close(full)
    return found


def _begin_next(path: str, kept: int) -> None:
    fresh = f"{path}.new"
    with open(path, "rb") as current, open(fresh, "wb") as file:
        file.write(current.readline())
    for number in range(kept, 1, -1):
        if os.path.exists(f"{path}.{number - 1}"):
            os.replace(f"{path}.{number - 1}", f"{path}.{number}")
    os.replace(path, f"{path}.1")
    os.replace(fresh, path)
