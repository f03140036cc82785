"""Whether there is anything of the reader's in a class, or only calls of what the server's own class does."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from textwrap import dedent
from types import FunctionType

_HANDED_ON = (
    *(ast.Return, ast.Expr, ast.Await, ast.Yield, ast.YieldFrom, ast.For, ast.AsyncFor, ast.Assign),
    *(ast.Name, ast.Attribute, ast.Call, ast.Starred, ast.keyword, ast.expr_context),
)
"""What a method may consist of that does nothing but call another and hand on what it gives."""


def has_own(cls: type, base: type) -> bool:
    """Whether one of the methods that the reader wrote does more than call the one of ``base`` that it
    stands for.
    """
    return any(_does_more(method) for method in _methods(cls, base))


def _methods(cls: type, base: type) -> Iterator[FunctionType]:
    """Those of the class, and of the reader's classes that it builds on."""
    for each in cls.__mro__:
        if each.__module__ == cls.__module__ and issubclass(each, base):
            yield from (method for method in vars(each).values() if isinstance(method, FunctionType))


def _does_more(method: FunctionType) -> bool:
    try:
        tree = ast.parse(dedent(inspect.getsource(method)))
    except (OSError, SyntaxError):
        return True  # made by code: nothing can be said of it
    function = tree.body[0]
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return True
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    nodes = [node for statement in body for node in ast.walk(statement)]
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    return (
        not any(_calls_the_same(call, function.name) for call in calls)
        or not all(isinstance(node, _HANDED_ON) for node in nodes)
        or not all(node.attr == function.name for node in nodes if isinstance(node, ast.Attribute))
        or not all(_calls_the_same(call, function.name) or _is_super(call) for call in calls)
    )


def _calls_the_same(call: ast.Call, name: str) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == name


def _is_super(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "super"
