"""Streamed text at the edge of a terminal."""

from __future__ import annotations

import textwrap

from hypothesis import given
from hypothesis import strategies as st

from minisgl_tutor.cli.wrap import Wrap


def wrapped(width: int, *pieces: str) -> str:
    wrap = Wrap(width)
    return "".join([*map(wrap.feed, pieces), wrap.end()])


@given(st.lists(st.text("ab", min_size=1, max_size=9), min_size=1), st.integers(9, 30), st.data())
def test_words_are_broken_as_textwrap_does_however_they_are_cut(
    words: list[str], width: int, data: st.DataObject
) -> None:
    text = " ".join(words)
    cut = data.draw(st.integers(0, len(text)))
    assert wrapped(width, text[:cut], text[cut:]) == textwrap.fill(text, width)


def test_a_word_is_shown_as_soon_as_it_is_whole() -> None:
    wrap = Wrap(80)
    assert [wrap.feed(piece) for piece in ("so th", "at ea", "ch ")] == ["so", " that", " each"]


def test_own_lines_and_indents_stay() -> None:
    assert wrapped(9, "def f():\n    re", "turn\n\nend") == "def f():\n    return\n\nend"


def test_scripts_without_spaces_are_broken_anywhere() -> None:
    assert wrapped(6, "缓存键和值", "。") == "缓存键\n和值。"
    assert wrapped(6, "KV 缓存") == "KV 缓\n存"


def test_a_word_wider_than_the_terminal_is_left_to_it() -> None:
    assert wrapped(4, "a incomprehensible b") == "a\nincomprehensible\nb"
