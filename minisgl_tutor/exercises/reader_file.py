"""Loads the file that a reader wrote, and finds the class in it.

Only what runs a reader's file on purpose calls this: the checker's child
process, and ``trace --frontend``.
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from ..server.frontend import FrontendManager

T = TypeVar("T")

MODULE = "reader_file"


class ReaderFileError(Exception):
    """The file cannot be used: one sentence that says why and, where one line is to blame, at which line."""


class ReaderFileMissing(ReaderFileError):
    """The file is not there or cannot be read: nothing was judged."""


def load_frontend_class(path: Path) -> type[FrontendManager]:
    """The class of the reader's that stands in for ``FrontendManager``.

    It is the one subclass defined in the file that no other class of the file builds on.

    Raises:
        ReaderFileMissing: the file cannot be read.
        ReaderFileError: it does not parse, raises, ends the process, or has no such class or several.
    """
    return the_class(load(path), FrontendManager, path.name)


def load(path: Path) -> ModuleType:
    """Runs the file as a module whose lines a trace shows.

    Raises:
        ReaderFileMissing, ReaderFileError: as for :func:`load_frontend_class`.
    """
    module = ModuleType(MODULE)
    module.__file__ = str(path)
    module.__dict__["__reader_file__"] = True
    try:
        code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    except OSError as error:
        raise ReaderFileMissing(f"{path} cannot be read: {error.strerror or error}") from error
    except SyntaxError as error:
        where = f", line {error.lineno}" if error.lineno else ""
        raise ReaderFileError(f"{path.name}{where}: Python cannot parse it: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        reason = str(error) or type(error).__name__
        raise ReaderFileError(f"{path.name}: Python cannot parse it: {reason}") from error
    sys.modules[MODULE] = module  # a dataclass looks up the module of its class
    try:
        exec(code, module.__dict__)
    except SystemExit as error:
        raise ReaderFileError(f"{_place(path, error)}: it ends the program while it is loaded") from error
    except Exception as error:
        raise ReaderFileError(f"{_place(path, error)}: loading it raised {describe(error)}") from error
    return module


def the_class(module: ModuleType, base: type[T], file: str) -> type[T]:
    """The one subclass of ``base`` defined in ``module`` that nothing else there builds on.

    Raises:
        ReaderFileError: there is none, or more than one.
    """
    found = [each for each in vars(module).values() if isinstance(each, type) and issubclass(each, base)]
    own = list(dict.fromkeys(each for each in found if each.__module__ == module.__name__))
    leaves = [each for each in own if not any(other is not each and issubclass(other, each) for other in own)]
    if not leaves:
        raise ReaderFileError(
            f"{file}: it has no class on {base.__name__}; "
            f"write `class Mine({base.__name__}):` and put the methods there"
        )
    if len(leaves) > 1:
        names = ", ".join(each.__name__ for each in leaves)
        raise ReaderFileError(
            f"{file}: it has several classes on {base.__name__} ({names}); keep the one that is to be judged"
        )
    return leaves[0]


def line_in(path: Path, error: BaseException) -> int:
    """The innermost line of the file that the exception passed through; 0 if it passed through none."""
    file = str(path)
    lines = [
        line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == file
    ]
    return lines[-1] if lines else 0


def describe(error: BaseException) -> str:
    """The first line of what an exception says, and its type."""
    text = str(error).partition("\n")[0].strip()
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__


def _place(path: Path, error: BaseException) -> str:
    line = line_in(path, error)
    return f"{path.name}, line {line}" if line else path.name
