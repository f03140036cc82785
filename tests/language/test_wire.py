"""Sentences that come from another process."""

from __future__ import annotations

from pathlib import Path

import pytest

from minisgl_tutor.language import Sentence, counted
from minisgl_tutor.language.wire import packed, unpacked

SENTENCES = [
    Sentence('{"no": "values"}'),
    Sentence("{number:.1f} of {file}", number=2, file=Path("a")),
    counted("{count} reply", "{count} replies", count=3),
    Sentence("it is so: {what}", what=Sentence("{name!r} is late", name="uid 3")),
]


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_sentence_arrives_as_it_was(sentence: Sentence) -> None:
    arrived = unpacked(packed(sentence, 4096))
    assert str(arrived) == str(sentence)
    assert (arrived.text, arrived.more) == (sentence.text, sentence.more)


def test_a_sentence_within_a_sentence_is_one_still() -> None:
    (what,) = unpacked(packed(SENTENCES[-1], 4096)).values.values()
    assert isinstance(what, Sentence)


def test_lines_become_one() -> None:
    assert str(unpacked(packed(Sentence("{why}", why="a\n  b"), 4096))) == "a b"


@pytest.mark.parametrize("letter", ["x", "中", '"', "{"])
def test_what_is_too_long_is_cut(letter: str) -> None:
    data = packed(Sentence("{why}", why=letter * 5000), 4096)
    assert len(data) <= 4096
    assert len(str(unpacked(data))) > 1000
