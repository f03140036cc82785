"""Excerpts of code and of plays: how a marker is filled, and that no chapter has a stale one."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
from pages import language_of, of_chapters

from minisgl_tutor.language import Tongue

CODE = "<!-- code: minisgl_tutor/message/codec.py unwrap -->\n"
TRACE = "<!-- trace: chapter 5 scene normal-end steps 1 -->\n"


@pytest.mark.parametrize("path", of_chapters(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_excerpt_is_current(script: ModuleType, path: Path) -> None:
    text = path.read_text("utf-8")
    assert script.filled(text, Tongue(language_of(path))) == text, "run scripts/fill_chapters.py"


def test_code_is_put_below_its_marker(script: ModuleType) -> None:
    assert script.filled(f"Before.\n\n{CODE}\nBehind.\n").splitlines()[3:7] == [
        "```python",
        "# minisgl_tutor/message/codec.py",
        "def unwrap(msg: Message) -> list[Single]:",
        '    """A single message or a batch, as one flat list (C5.18, C2.32)."""',
    ]


def test_a_step_is_put_below_its_marker_without_a_line_number(script: ModuleType) -> None:
    filled = script.filled("<!-- trace: chapter 5 scene normal-end steps 2 -->\n")
    assert "#2     0.001000 s  api → tokenizer-0  TokenizeMsg\n" in filled
    assert "       server/frontend.py  FrontendManager.send_one ← submit\n" in filled


def test_a_gap_changes_the_play(script: ModuleType) -> None:
    marker = "<!-- trace: chapter 5 scene client-leaves steps 22{} -->\n"
    with_abort, with_gap = (script.filled(marker.format(gaps)) for gaps in ("", " gaps late-abort"))
    assert "AbortMsg" in with_abort and "AbortMsg" not in with_gap


def test_a_trace_speaks_the_language_of_the_page(script: ModuleType) -> None:
    assert "request 0 POST" in script.filled(TRACE) and "请求 0 POST" in script.filled(TRACE, Tongue("zh"))


@pytest.mark.parametrize("marker", [CODE, TRACE])
def test_filling_again_changes_nothing_and_replaces_what_is_stale(script: ModuleType, marker: str) -> None:
    filled = script.filled(f"{marker}Behind.\n")
    assert script.filled(filled) == filled
    assert script.filled(filled.replace("msg", "old").replace("api", "old")) == filled


def test_the_block_of_an_author_below_text_is_left_alone(script: ModuleType) -> None:
    text = f"{CODE}\nText.\n\n```sh\nls\n```\n"
    assert "```sh\nls\n```\n" in script.filled(text)


@pytest.mark.parametrize(
    ("marker", "reason"),
    [
        ("code: minisgl_tutor/none.py x", "give a file"),
        ("code: minisgl_tutor/message/codec.py", "name of something"),
        ("code: minisgl_tutor/message/codec.py unwrap.inner", "no inner"),
        ("trace: chapter 5 normal-end", "write it as"),
        ("trace: chapter 5 scene none steps 1", "no scene 'none'"),
        ("trace: chapter 5 scene normal-end steps 900", "steps"),
    ],
)
def test_a_wrong_marker_is_named(script: ModuleType, marker: str, reason: str) -> None:
    with pytest.raises(script.MarkerError, match=reason) as raised:
        script.filled(f"<!-- {marker} -->\n")
    assert marker in str(raised.value)
