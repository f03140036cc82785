"""The starter in Chinese is the starter: the same code, and what is said of it is all in Chinese."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from minisgl_tutor.exercises.catalogue import Exercise, exercises
from minisgl_tutor.exercises.workspace import STARTERS, TEXTS
from tests.language.english import CHINESE, english_left

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_of(file: Path) -> tuple[str, list[str]]:
    """What a file does, and what is said of it: its docstrings and comments."""
    text = file.read_text("utf-8")
    tree = ast.parse(text)
    said = [*docstrings_taken_out(tree), *comments(text)]
    return ast.dump(tree), said


def docstrings_taken_out(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and (docstring := ast.get_docstring(node)):
            node.body[0] = ast.Pass()
            yield docstring


def comments(text: str) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith("# noqa"):
            yield token.string


# While tests are collected: CPython 3.11 cannot be trusted to parse after plays.
PAIRS = [
    pytest.param(
        exercise, *(code_of(exercise.path / STARTERS[language]) for language in ("en", "zh")), id=exercise.key
    )
    for exercise in exercises()
]


@pytest.mark.parametrize(("exercise", "english", "chinese"), PAIRS)
def test_the_code_is_the_same_and_the_words_are_chinese(
    exercise: Exercise, english: tuple[str, list[str]], chinese: tuple[str, list[str]]
) -> None:
    assert chinese[0] == english[0]
    assert len(chinese[1]) == len(english[1])
    for said in chinese[1]:
        assert CHINESE.search(said)
        assert english_left(said) == []
    assert f"{exercise.name}{TEXTS['README.zh.md']}" in chinese[1][0]
