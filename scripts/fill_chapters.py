#!/usr/bin/env python3
"""Fills the excerpts in the chapters: code from the package, steps from plays of the scenes.

A marker is a comment on a line of its own; the fenced block below it is this script's::

    <!-- code: minisgl_tutor/server/frontend.py FrontendManager.listen -->
    <!-- trace: chapter 5 scene normal-end steps 1-4 -->
    <!-- trace: chapter 5 scene client-leaves steps 21-22,26 gaps late-abort,forgotten-decode -->

A name may lead into a function (``launch_server.start_subprocess``). Without ``gaps`` a
scene is played without any. Line numbers are left out of steps, so that an edit elsewhere
in a file does not make a text stale.
"""

from __future__ import annotations

import ast
import io
import logging
import re
import sys
import textwrap
from functools import cache

from pages import ROOT, language_of, of_chapters
from rich.console import Console

from minisgl_tutor.language import ENGLISH, Tongue
from minisgl_tutor.recording import read_recording
from minisgl_tutor.resources import model_dir
from minisgl_tutor.tokenizer.load import load_tokenizer
from minisgl_tutor.trace.play import Play, play
from minisgl_tutor.trace.scenes import SceneNotFound, scenes_of
from minisgl_tutor.views.terminal import print_step

WIDTH = 80
"""Columns of a terminal, as `trace` has there and as `read` has for a block."""
MARKER = re.compile(r"^<!-- (code|trace): (.+?) -->\n(?:```.*?^```\n)?", re.MULTILINE | re.DOTALL)
TRACE = re.compile(r"chapter (\d+) scene (\S+) steps ([\d,-]+)(?: gaps (\S+))?")
LINE_NUMBER = re.compile(r"(\.py):\d+")

Named = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class MarkerError(ValueError):
    """A marker asks for something that is not there. The message names it."""


def filled(text: str, say: Tongue = ENGLISH) -> str:
    """``text`` with a current block below each marker; what a trace says is said in a language.

    Raises:
        MarkerError: a marker asks for what is not there.
    """
    return MARKER.sub(
        lambda found: f"<!-- {found[1]}: {found[2]} -->\n{block(found[1], found[2], say)}", text
    )


def block(kind: str, what: str, say: Tongue) -> str:
    language, content = ("python", code(what)) if kind == "code" else ("text", steps(what, say))
    return f"```{language}\n{content}\n```\n"


def code(what: str) -> str:
    """The source of ``FILE NAME``, below a line that names the file."""
    file, _, name = what.partition(" ")
    path = ROOT / file
    if not path.is_file() or not name:
        raise MarkerError(f"code: {what}: give a file of the package, and the name of something in it")
    source = path.read_text("utf-8")
    node: ast.AST = ast.parse(source)
    for part in name.split("."):
        found = [child for child in ast.walk(node) if isinstance(child, Named) and child.name == part]
        if not found:
            raise MarkerError(f"code: {what}: there is no {part}")
        node = found[0]
    assert isinstance(node, Named)
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    lines = source.splitlines()[first - 1 : node.end_lineno]
    return f"# {file}\n" + textwrap.dedent("\n".join(lines))


def steps(what: str, say: Tongue) -> str:
    """The steps that ``chapter N scene NAME steps A-B`` asks for, as ``trace`` prints them."""
    asked = TRACE.fullmatch(what)
    if asked is None:
        raise MarkerError(f"trace: {what}: write it as 'chapter 5 scene normal-end steps 1-4'")
    chapter, scene, numbers, gaps = asked.groups()
    try:
        result = played(int(chapter), scene, tuple(gaps.split(",")) if gaps else ())
    except SceneNotFound as error:
        raise MarkerError(f"trace: {what}: {error}") from None
    console = Console(file=io.StringIO(), width=WIDTH, color_system=None, highlight=False)
    assert isinstance(console.file, io.StringIO)
    for number in numbers_of(numbers):
        if not 1 <= number <= len(result.steps):
            raise MarkerError(f"trace: {what}: the scene has {len(result.steps)} steps")
        print_step(console, result.steps[number - 1], say)
    lines = LINE_NUMBER.sub(r"\1", console.file.getvalue()).splitlines()
    return "\n".join(line.rstrip() for line in lines)


def numbers_of(ranges: str) -> list[int]:
    """``2-4,7`` as 2, 3, 4, 7."""
    numbers: list[int] = []
    for each in ranges.split(","):
        first, _, last = each.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


@cache
def played(chapter: int, scene: str, gaps: tuple[str, ...]) -> Play:
    (found,) = scenes_of(chapter, scene)
    return play(read_recording(found.path), load_tokenizer(model_dir()), gaps)


def main() -> None:
    logging.getLogger("minisgl_tutor").addHandler(logging.NullHandler())
    for path in of_chapters():
        text = path.read_text("utf-8")
        try:
            new = filled(text, Tongue(language_of(path)))
        except MarkerError as error:
            print(f"{path}: {error}", file=sys.stderr)
            raise SystemExit(1) from None
        if new != text:
            path.write_text(new, "utf-8")
            print(f"filled {path}")


if __name__ == "__main__":
    main()
