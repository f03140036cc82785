"""Open files: each client and each link needs some, and a process may have only so many."""

from __future__ import annotations

import resource
from contextlib import suppress

from ...language import Sentence
from ..workers.errors import StartError

WANTED = 65_536
NEEDED = 64
"""Of the server itself, before any client."""


def allow_files() -> None:
    """Lets this process and its workers have as many files open as the system grants.

    Raises:
        StartError: these are too few for a server.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    granted = WANTED if hard == resource.RLIM_INFINITY else min(WANTED, hard)
    if soft < granted:
        with suppress(ValueError, OSError):  # macOS grants fewer than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (granted, hard))
            soft = granted
    if soft < NEEDED:
        raise StartError(
            Sentence(
                "a process may have only {most} files open here, and the server needs {needed} at least; "
                "allow more with `ulimit -n 1024`",
                most=soft,
                needed=NEEDED,
            )
        )
