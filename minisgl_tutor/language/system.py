"""What the operating system says of a failure."""

from __future__ import annotations

from .sentence import Sentence

KNOWN = (
    Sentence("No such file or directory"),
    Sentence("Permission denied"),
    Sentence("Operation not permitted"),
    Sentence("Is a directory"),
    Sentence("Not a directory"),
    Sentence("File exists"),
    Sentence("Read-only file system"),
    Sentence("No space left on device"),
    Sentence("Disk quota exceeded"),
    Sentence("File too large"),
    Sentence("File name too long"),
    Sentence("Too many levels of symbolic links"),
    Sentence("Too many open files"),
    Sentence("Cannot allocate memory"),
    Sentence("Resource temporarily unavailable"),
    Sentence("Address already in use"),
    Sentence("Cannot assign requested address"),
    Sentence("Connection refused"),
    Sentence("Connection reset by peer"),
    Sentence("Broken pipe"),
    Sentence("Input/output error"),
)
"""What it says most often, as Linux words it. The rest is said in the system's own language."""


def reason_of(error: OSError) -> Sentence:
    """Why it failed, in the system's words."""
    return Sentence(error.strerror or str(error))
