"""Loads the file that a reader wrote, and finds the classes in it.

Only what runs a reader's file on purpose calls this: the checker's child
process, and ``trace --yours``.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from ..language import NOTHING, Sentence, reason_of, sentence_of
from ..language.wire import Said
from ..server.frontend import FrontendManager
from ..trace.clock import VirtualTimeError
from .own import has_own
from .wire import Raised

T = TypeVar("T")

MODULE = "reader_file"

AWAITED = ("Awaitable", "Coroutine")
"""How the type of what is awaited begins."""


class ReaderFileError(Exception):
    """The file cannot be used: one sentence that says why and, where one line is to blame, at which line."""


class ReaderFileMissing(ReaderFileError):
    """The file is not there or cannot be read: nothing was judged."""


def load_classes(path: Path) -> list[type]:
    """The reader's classes that stand in for components of the server.

    Each is the one subclass of its component in the file that no other class of the file builds on.

    Raises:
        ReaderFileMissing: the file cannot be read.
        ReaderFileError: it does not parse, raises, ends the process, or has no such class or several.
    """
    found = classes_of(load(path), path.name)
    if not found:
        names = ", ".join(base.__name__ for base in _components())
        raise ReaderFileError(
            Sentence("{file}: it has no class on one of {names}", file=path.name, names=names)
        )
    return found


def classes_of(module: ModuleType, file: str) -> list[type]:
    """The same of a module that is loaded already; there may be none.

    Raises:
        ReaderFileError: there are several for one component.
    """
    found: list[type] = []
    for base in _components():
        found += _leaves(module, base, file)
    return found


def _components() -> tuple[type, ...]:
    from ..scheduler.scheduler import Scheduler
    from ..tokenizer.detokenize import DetokenizeManager
    from ..tokenizer.server import TokenizeWorker
    from ..tokenizer.tokenize import TokenizeManager

    return (FrontendManager, TokenizeWorker, TokenizeManager, DetokenizeManager, Scheduler)


def load(path: Path) -> ModuleType:
    """Runs the file as a module whose lines a trace shows.

    Raises:
        ReaderFileMissing, ReaderFileError: as for :func:`load_classes`.
    """
    module = ModuleType(MODULE)
    module.__file__ = str(path)
    module.__dict__["__reader_file__"] = True
    try:
        code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    except OSError as error:
        why = reason_of(error)
        raise ReaderFileMissing(Sentence("{file} cannot be read: {why}", file=str(path), why=why)) from error
    except SyntaxError as error:
        raise _not_parsed(path, error.lineno or 0, error.msg) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise _not_parsed(path, 0, str(error) or type(error).__name__) from error
    sys.modules[MODULE] = module  # a dataclass looks up the module of its class
    try:
        exec(code, module.__dict__)
    except SystemExit as error:
        place = _place(path, line_in(path, error))
        raise ReaderFileError(
            Sentence("{place}: it ends the program while it is loaded", place=place)
        ) from error
    except Exception as error:
        place = _place(path, line_in(path, error))
        what = raised(error, path).sentence()
        raise ReaderFileError(
            Sentence("{place}: loading it raised {what}", place=place, what=what)
        ) from error
    return module


def _not_parsed(path: Path, line: int, reason: str) -> ReaderFileError:
    place = _place(path, line)
    return ReaderFileError(Sentence("{place}: Python cannot parse it: {reason}", place=place, reason=reason))


def the_class(module: ModuleType, base: type[T], file: str, methods: Collection[str] = ()) -> type[T]:
    """The one subclass of ``base`` defined in ``module`` that nothing else there builds on.

    Raises:
        ReaderFileError: there is none, or more than one, or it leaves one of ``methods`` to ``base``, or
            all that it has does nothing but call what ``base`` has.
    """
    leaves = _leaves(module, base, file)
    if not leaves:
        raise ReaderFileError(
            Sentence(
                "{file}: it has no class on {base}; write `class Mine({base}):` and put the methods there",
                file=file,
                base=base.__name__,
            )
        )
    for name in methods:
        if getattr(leaves[0], name) is getattr(base, name):
            raise ReaderFileError(
                Sentence(
                    "{file}: {name} has no {method} of its own, and it is asked for; write it there",
                    file=file,
                    name=leaves[0].__name__,
                    method=name,
                )
            )
    if methods:
        check_own([leaves[0]], [base], file)
    return leaves[0]


def check_own(
    classes: Sequence[type], bases: Sequence[type], file: str, methods: Collection[str] = ()
) -> None:
    """
    Raises:
        ReaderFileError: there is nothing of the reader's in any of the classes.
    """
    if not any(has_own(cls, base) for cls, base in zip(classes, bases, strict=True)):
        raise ReaderFileError(
            Sentence(
                "{file}: no method of {names} does more than call the server's own, so nothing of yours can "
                "be judged",
                file=file,
                names=", ".join(cls.__name__ for cls in classes),
            )
        )


def _leaves(module: ModuleType, base: type[T], file: str) -> list[type[T]]:
    """The subclasses of ``base`` in ``module`` that nothing else there builds on: one, or none."""
    found = [each for each in vars(module).values() if isinstance(each, type) and issubclass(each, base)]
    own = list(dict.fromkeys(each for each in found if each.__module__ == module.__name__))
    leaves = [each for each in own if not any(other is not each and issubclass(other, each) for other in own)]
    if len(leaves) > 1:
        names = ", ".join(each.__name__ for each in leaves)
        raise ReaderFileError(
            Sentence(
                "{file}: it has several classes on {base} ({names}); keep the one that is to be judged",
                file=file,
                base=base.__name__,
                names=names,
            )
        )
    for cls in leaves:
        _check_waited_for(cls, base, file)
    return leaves


def check_plain(method: object, file: str) -> None:
    """
    Raises:
        ReaderFileError: the method, which is called without await, is a coroutine function: what it would
            do would never happen.
    """
    if inspect.iscoroutinefunction(method):
        raise ReaderFileError(
            Sentence(
                "{file}, line {line}: {method} is called without await, so `async def` it cannot be; "
                "write `def {method}` there",
                file=file,
                line=method.__code__.co_firstlineno,
                method=method.__name__,
            )
        )


def _check_waited_for(cls: type, base: type, file: str) -> None:
    """
    Raises:
        ReaderFileError: a method is a coroutine function where the server waits for nothing.
    """
    for name, own in inspect.getmembers(cls, inspect.iscoroutinefunction):
        servers = getattr(base, name, None)
        if not inspect.isfunction(servers) or inspect.iscoroutinefunction(servers):
            continue
        if not str(servers.__annotations__.get("return", "")).startswith(AWAITED):
            check_plain(own, file)


def the_function(module: ModuleType, name: str, file: str) -> Callable[..., Any]:
    """The function ``name`` of the reader's.

    Raises:
        ReaderFileError: there is none.
    """
    function = vars(module).get(name)
    if not callable(function):
        raise ReaderFileError(
            Sentence("{file}: it has no function {name!r}; write `def {name}(...):`", file=file, name=name)
        )
    return function  # type: ignore[no-any-return]


def the_class_named(module: ModuleType, name: str, file: str) -> type:
    """The class ``name`` of the reader's, which derives from nothing of the project's.

    Raises:
        ReaderFileError: there is none.
    """
    cls = vars(module).get(name)
    if not isinstance(cls, type):
        raise ReaderFileError(
            Sentence("{file}: it has no class {name!r}; write `class {name}:`", file=file, name=name)
        )
    return cls


def raised(error: BaseException, path: Path | None) -> Raised:
    """The exception, and where in the file: the line it passed through, or at which its code waits."""
    line = 0 if path is None else line_in(path, error) or _called_wrongly(path, error)
    if isinstance(error, VirtualTimeError):
        waiting = [each.line for each in error.waiting if each.module == MODULE]
        line = line or (waiting[0] if waiting else 0)
    place = NOTHING if line or isinstance(error, VirtualTimeError) else _frame(error)
    return Raised(type(error).__name__, Said.of(_what(error)), line, Said.of(place))


def _called_wrongly(path: Path, error: BaseException) -> int:
    """The line of the file's function that does not take what it is called with; 0 if it is not that."""
    found = re.match(r"([\w.]+)\(\) (?:takes|missing|got)", str(error))
    if not isinstance(error, TypeError) or found is None:
        return 0
    name = found[1].rpartition(".")[2]
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = ast.walk(ast.parse(path.read_bytes()))
    return next((node.lineno for node in nodes if isinstance(node, functions) and node.name == name), 0)


def line_in(path: Path, error: BaseException) -> int:
    """The innermost line of the file that the exception passed through; 0 if it passed through none."""
    file = str(path)
    lines = [
        line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == file
    ]
    return lines[-1] if lines else 0


def _what(error: BaseException) -> Sentence:
    """What an exception says: the sentence that it was raised with, else the first line of its text."""
    sentence = sentence_of(error)
    return sentence if sentence.values else Sentence(sentence.text.partition("\n")[0].strip()[:200])


def _frame(error: BaseException) -> Sentence:
    """The innermost frame that the exception passed through."""
    frames = [(frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    if not frames:
        return NOTHING
    code, line = frames[-1]
    file = Path(code.co_filename)
    if file.is_relative_to(Path(__file__).parent):
        return NOTHING  # the judge's own code is nobody's concern
    return Sentence(
        " (in {function}, {file} line {line})", function=code.co_qualname, file=file.name, line=line
    )


def _place(path: Path, line: int) -> Sentence:
    if not line:
        return Sentence(path.name)
    return Sentence("{file}, line {line}", file=path.name, line=line)
