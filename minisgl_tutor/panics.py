"""A library in Rust that fails an assertion of its own raises what is no ``Exception``; here it becomes one.

PyO3's ``PanicException`` passes every ``except Exception``, so one odd text would end a whole worker.
It has no importable name; its module's name is all that tells it.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

PANICS_OF = "pyo3_runtime"


class LibraryPanic(RuntimeError):
    """A library failed at what it was given, through its own fault."""


@contextmanager
def panics_as_errors() -> Generator[None]:
    """Around calls of a library in Rust, or as the decorator of a function that makes one.

    Raises:
        LibraryPanic: it panicked.
    """
    try:
        yield
    except BaseException as error:
        if type(error).__module__ != PANICS_OF:
            raise
        raise LibraryPanic(str(error)) from error
