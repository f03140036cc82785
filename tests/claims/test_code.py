"""Claims that the code shows: something is there, under its name, and does certain things or does not."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import minisgl_tutor
from minisgl_tutor.trace.claims import Place, read_claims

PACKAGE = Path(minisgl_tutor.__file__).parent
SHOWN = {
    number: each.code for family in read_claims().values() for number, each in family.items() if each.code
}
FORMS = {"class": ast.ClassDef, "def": ast.FunctionDef, "async def": ast.AsyncFunctionDef}


@cache
def syntax(file: str) -> ast.Module:
    return ast.parse((PACKAGE / file).read_text("utf-8"))


def children(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What has a name in a module, in a class (what its methods give to self too) or in a function."""
    for child in ast.walk(node):
        match child:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                yield child.name, child
            case ast.Assign(targets=[*targets]):
                for target in targets:
                    yield from ((name, child) for name in names_of(target))
            case ast.AnnAssign():
                yield from ((name, child) for name in names_of(child.target))
            case ast.ImportFrom() | ast.Import():
                yield from ((alias.asname or alias.name, child) for alias in child.names)
            case ast.arg():
                yield child.arg, child


def names_of(target: ast.expr) -> list[str]:
    match target:
        case ast.Name():
            return [target.id]
        case ast.Attribute(value=ast.Name(id="self")):
            return [target.attr]
    return []


def find(place: Place) -> ast.AST:
    file, _, path = place.at.partition(":")
    node: ast.AST = syntax(file)
    for name in path.split(".") if path else ():
        found = [child for known, child in children(node) if known == name]
        assert found, f"{place.at}: no {name}"
        node = found[0]
    return node


def words(node: ast.AST) -> set[str]:
    """All names and literals within, as they are written."""
    found: set[str] = set()
    for each in ast.walk(node):
        match each:
            case ast.Name():
                found.add(each.id)
            case ast.Attribute():
                found |= {each.attr, ast.unparse(each)}
            case ast.Constant():
                found.add(str(each.value))
            case ast.arg():
                found.add(each.arg)
            case ast.keyword(arg=str(name)):
                found |= {name, ast.unparse(each)}
            case ast.alias():
                found.add(each.name)
            case ast.ImportFrom():
                found.add(each.module or "")
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                found.add(each.name)
            case ast.Await():
                found.add(f"await {ast.unparse(each.value)}")
    return found


@pytest.mark.parametrize("number", SHOWN)
def test_the_code_shows_it(number: str) -> None:
    for place in SHOWN[number]:
        node = find(place)
        if place.form:
            assert type(node) is FORMS[place.form], place
        assert not set(place.uses) - words(node), place
        assert not set(place.lacks) & words(node), place


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        (Place("scheduler/scheduler.py:Scheduler.no_such"), "no no_such"),
        (Place("server/frontend.py:FrontendManager.new_user", form="async def"), "new_user"),
        (Place("server/frontend.py:FrontendManager.new_user", uses=("create_task",)), "create_task"),
        (Place("server/frontend.py:FrontendManager.new_user", lacks=("uid_counter",)), "uid_counter"),
    ],
    ids=str,
)
def test_what_is_not_so_is_not_found(place: Place, wrong: str) -> None:
    with pytest.raises(AssertionError, match=wrong):
        node = find(place)
        assert not place.form or type(node) is FORMS[place.form], place
        assert not set(place.uses) - words(node), place
        assert not set(place.lacks) & words(node), place
