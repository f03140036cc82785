"""Whether there is anything of the reader's in a class, or only calls of what the server's own class does."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType, FunctionType

WORK = ("BINARY", "COMPARE", "CONTAINS", "IS_OP", "POP_JUMP", "STORE_SUBSCR", "UNARY", "UNPACK")
"""How instructions begin that compute or decide something."""


def has_own(cls: type, base: type) -> bool:
    """Whether one of the methods that the reader wrote does more than call the one of ``base`` that it
    stands for, and hand on what it gives.
    """
    classes = {each.__name__ for each in cls.__mro__}
    return any(_does_more(method.__code__, classes) for method in _methods(cls, base))


def _methods(cls: type, base: type) -> Iterator[FunctionType]:
    """Those of the class, and of the reader's classes that it builds on."""
    for each in cls.__mro__:
        if each.__module__ == cls.__module__ and issubclass(each, base):
            yield from (method for method in vars(each).values() if isinstance(method, FunctionType))


def _does_more(code: CodeType, classes: set[str]) -> bool:
    """It does not merely call its namesake in another class: it uses further names or a value of its own,
    computes or decides something, or has a function within. None is no value: any function returns it.
    """
    names, others = {*code.co_names}, {"super", *classes}
    return (
        not (code.co_name in names and names & others and names <= {code.co_name, *others})
        or any(each.opname.startswith(WORK) or _value(each) for each in dis.get_instructions(code))
        or any(isinstance(each, CodeType) for each in code.co_consts)
    )


def _value(instruction: dis.Instruction) -> bool:
    """It loads or returns a number, a text or a truth value (the names of arguments are a tuple)."""
    return instruction.opname.endswith("_CONST") and isinstance(instruction.argval, int | float | str | bytes)
