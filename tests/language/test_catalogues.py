"""Every sentence that the package may say is in the catalogues."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "minisgl_tutor"


# Read as this file is: behind plays CPython 3.11 miscounts how deep it is, and refuses to parse.
IN_FORMATTED_STRINGS = [
    f"{file.relative_to(PACKAGE)}:{node.lineno}"
    for file in PACKAGE.rglob("*.py")
    for text in ast.walk(ast.parse(file.read_text("utf-8")))
    if isinstance(text, ast.JoinedStr)
    for node in ast.walk(text)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    if node.func.id in ("Sentence", "counted")
]


def test_no_sentence_is_made_within_a_formatted_string() -> None:
    """Where what collects them does not look, on some versions of Python."""
    assert not IN_FORMATTED_STRINGS


def test_no_sentence_is_missing_and_all_are_compiled() -> None:
    script = ROOT / "scripts" / "update_catalogues.py"
    found = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
