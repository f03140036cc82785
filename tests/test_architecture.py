"""The rules about who may know whom, read from the source: arrows point one way."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

import minisgl_tutor

PACKAGE = Path(minisgl_tutor.__file__).parent
ROOT = PACKAGE.parent
NAME = "minisgl_tutor"

# Which rooms a room may know. A name with a dot is one module of a room, with a rule of its own.
PLAIN = {"message", "links", "engine.base", "server.config", "resources"}
MODEL = {"models.config", "models.directory", "models.errors"}
SERVER = {"server", "server.build", "server.openai"}
PLAY = PLAIN | SERVER | {"recording", "tokenizer", "engine.recorded", "gaps", "scheduler.problems"}
MAY_KNOW: dict[str, set[str]] = {
    "__init__": set(),
    "language": set(),
    "resources": set(),
    "progress": set(),
    "panics": set(),
    "message": set(),
    "engine.base": set(),
    "server.config": set(),
    "links": {"message"},
    "recording": {"message", "links", "engine.base"},
    "profiling": {"message", "links", "engine.base"},
    "tokenizer": {"message", "links", "server.config", "resources", "panics"},
    "scheduler.problems": set(),
    "scheduler": {"message", "links", "engine.base", "server.config", "scheduler.problems"},
    "engine.hashing": {"engine.base"},
    "engine.recorded": {"engine.base"},
    "models.errors": set(),
    "models.directory": {"models.errors"},
    "models.config": {"models.directory", "models.errors"},
    "distributed.seat": set(),
    "distributed": {"distributed.seat", "models.errors"},
    "engine.kv_cache": {"models.config"},
    "attention": MODEL | {"engine.kv_cache"},
    "models": MODEL | {"attention", "distributed", "progress", "resources", "panics"},
    "engine": PLAIN
    | MODEL
    | {"engine.kv_cache", "attention", "distributed", "distributed.seat", "models", "profiling", "progress"},
    "server.workers": set(),
    "server.openai": {"message"},
    "server": {"message", "links", "server.config", "server.openai"},
    "server.limits": {"message", "server", "server.config", "server.openai"},
    "server.operations": {"message", "server", "server.config", "server.limits", "server.workers"},
    "gaps": {"message", "links", "tokenizer", "scheduler", "server", "server.openai"},
    # One place puts the components together, for processes and for a play alike.
    "server.build": PLAIN | {"tokenizer", "scheduler", "server", "gaps"},
    "server.processes": {"server.config", "server.workers"},
    "server.processes.profiled": PLAIN | {"engine", "profiling"},
    "server.processes.scheduler_process": PLAIN
    | {"distributed.seat", "engine", "recording", "scheduler", "tokenizer", "server.build", "server.workers"}
    | {"server.processes.profiled"},
    "server.processes.nodes": {"distributed.seat", "server.config", "server.workers"}
    | {"server.processes.scheduler_process"},
    "server.processes.api_process": PLAIN
    | {"recording", "server", "server.build", "server.openai", "server.limits", "server.operations"}
    | {"server.workers", "server.processes"},
    "server.processes.launch": PLAIN
    | MODEL
    | {"distributed.seat", "recording", "tokenizer", "models", "server.build", "server.workers"}
    | {"server.processes", "server.processes.api_process", "server.processes.nodes"}
    | {"server.processes.scheduler_process"},
    "server.processes.offline": PLAIN
    | MODEL
    | {"distributed.seat", "server.build", "server.workers"}
    | {"server.processes.profiled", "server.processes.scheduler_process"},
    "llm": PLAIN | MODEL | {"models", "engine", "tokenizer", "server.processes.offline"},
    "bench": {"llm", "message", "recording"} | MODEL,
    "trace": PLAY,
    "views": {"message", "recording", "resources", "trace"},
    "stepper": {"gaps", "recording", "trace", "views"},
    "exercises": PLAY | {"trace", "views", "scheduler", "engine.hashing"},
    "cli": PLAY
    | MODEL
    | {"server.processes", "server.processes.launch", "server.workers", "server.operations"}
    | {"models", "engine", "llm", "bench", "profiling", "trace", "views", "exercises", "progress", "stepper"},
    "__main__": {"cli"},
}

# Rooms that need torch to do their work, and what of them must come up without it, as everything else must.
TORCH_ROOMS = ("engine", "attention", "distributed", "models")
LIGHT = ("engine.base", "engine.hashing", "engine.recorded", "distributed.seat")

PICKLES = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "marshal", "shelve"}
PICKLING_METHODS = {"send_pyobj", "recv_pyobj"}


def within(module: str, room: str) -> bool:
    return module == room or module.startswith(room + ".")


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def walk(node: ast.AST, into_functions: bool) -> Iterator[ast.AST]:
    """Every node below, without what only a type checker reads."""
    for child in ast.iter_child_nodes(node):
        if is_type_checking(child):
            continue
        if not into_functions and isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        yield child
        yield from walk(child, into_functions)


@cache
def modules() -> dict[str, Path]:
    """Modules by name below the package: ``scheduler.radix``, ``scheduler`` for its ``__init__``."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts[0] in ("chapters", "assets"):
            continue
        found[".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)] = path
    return found


@cache
def syntax(module: str) -> ast.Module:
    return ast.parse(modules()[module].read_text(encoding="utf-8"))


@cache
def imports(module: str, lazy: bool = True) -> frozenset[str]:
    """What a module imports: own modules by their name in ``modules()``, others as written.

    With ``lazy`` unset, only what importing the module imports.
    """
    path = modules()[module]
    package = [NAME, *path.relative_to(PACKAGE).parent.parts]
    found: set[str] = set()
    for node in walk(syntax(module), into_functions=lazy):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                submodule = f"{source}.{alias.name}"
                is_module = submodule.removeprefix(NAME + ".") in modules()
                found.add(submodule if is_module else source)
    return frozenset(name.removeprefix(NAME + ".") for name in found if name != NAME)


def own_imports(module: str, lazy: bool = True) -> set[str]:
    return {name for name in imports(module, lazy) if name in modules()}


def rule_for(module: str) -> str:
    """The most particular room that the module lies in."""
    rooms = [room for room in MAY_KNOW if within(module, room)]
    assert rooms, f"{module} lies in no known room; give it a place in MAY_KNOW"
    return max(rooms, key=len)


def closure(module: str) -> set[str]:
    """The module's own imports and theirs, lazy ones too."""
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        for name in own_imports(waiting.pop()) - seen:
            seen.add(name)
            waiting.append(name)
    return seen


@pytest.mark.parametrize("module", modules())
def test_a_room_knows_only_the_rooms_below_it(module: str) -> None:
    own_room = rule_for(module)
    allowed = MAY_KNOW[own_room] | {own_room, "language"}  # whoever has something to say may say it
    strangers = {name for name in own_imports(module) if rule_for(name) not in allowed}
    assert not strangers, f"{module} may not import {sorted(strangers)}"


def assert_no_circle(arrows: Mapping[str, set[str]]) -> None:
    finished: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, "a circle: " + " -> ".join([*path, name])
        if name not in finished:
            for other in sorted(arrows[name]):
                visit(other, (*path, name))
            finished.add(name)

    for name in arrows:
        visit(name, ())


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    assert_no_circle({module: own_imports(module, lazy=False) for module in modules()})


def test_rooms_do_not_know_each_other_in_a_circle() -> None:
    assert_no_circle(MAY_KNOW)


def test_the_two_ends_of_the_channel_never_call_each_other() -> None:
    """C5.6: what the API server reaches by imports has no scheduler, engine or tokenizer worker in it."""
    reached = closure("server.api_server")
    assert "message" in reached
    assert not {name for name in reached if name.split(".")[0] in ("scheduler", "engine", "tokenizer")}


def test_the_control_plane_comes_up_without_torch() -> None:
    control_plane = [
        f"{NAME}.{module}"
        for module in modules()
        if module not in ("__init__", "__main__")
        and (module in LIGHT or not any(within(module, room) for room in TORCH_ROOMS))
    ]
    script = f"""
import importlib, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name in ("torch", "transformers", "flashinfer"):
            raise ImportError(name + " is not for the control plane")

sys.meta_path.insert(0, Refuse())
for module in {control_plane!r}:
    importlib.import_module(module)
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("module", modules())
def test_nothing_is_pickled(module: str) -> None:
    assert not {name for name in imports(module) if name.split(".")[0] in PICKLES}
    attributes = {node.attr for node in ast.walk(syntax(module)) if isinstance(node, ast.Attribute)}
    assert not attributes & PICKLING_METHODS


@pytest.mark.parametrize("module", modules())
def test_no_function_rebinds_a_global(module: str) -> None:
    assert not any(isinstance(node, ast.Global) for node in ast.walk(syntax(module)))


def test_every_file_holds_one_idea() -> None:
    """Not a measure of quality, but a file of more than 350 lines has never held only one."""
    files = [path for folder in (PACKAGE, ROOT / "scripts", ROOT / "tests") for path in folder.rglob("*.py")]
    long = {path.name: count for path in files if (count := len(path.read_text("utf-8").splitlines())) > 350}
    assert not long
