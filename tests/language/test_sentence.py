"""Sentences: English by themselves, another language by a tongue."""

from __future__ import annotations

from pathlib import Path

import pytest

from minisgl_tutor.language import ENGLISH, Sentence, Tongue, counted, joined, sentence_of, tongue, verbatim

CATALOGUE = {
    "{name} is late": "{name} 迟到了",
    "nobody": "没有人",
    ("{count} reply was lost", "{count} replies were lost"): ("丢失了 {count} 条回复",),
}


@pytest.fixture
def chinese(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tongue:
    from babel.messages.catalog import Catalog
    from babel.messages.mofile import write_mo

    catalogue = Catalog(locale="zh")
    for text, translation in CATALOGUE.items():
        catalogue.add(text, translation)
    folder = tmp_path / "zh"
    folder.mkdir()
    with (folder / "some.mo").open("wb") as file:
        write_mo(file, catalogue)
    monkeypatch.setattr(tongue, "CATALOGUES", tmp_path)
    return Tongue("zh")


def test_a_sentence_is_english_until_a_tongue_says_it(chinese: Tongue) -> None:
    late = Sentence("{name} is late", name="uid 3")
    assert str(late) == ENGLISH(late) == "uid 3 is late"
    assert chinese(late) == "uid 3 迟到了"


def test_a_sentence_within_another_is_said_in_the_same_language(chinese: Tongue) -> None:
    late = Sentence("{name} is late", name=Sentence("nobody"))
    assert str(late) == "nobody is late"
    assert chinese(late) == "没有人 迟到了"


@pytest.mark.parametrize(
    ("count", "english"), [(0, "0 replies were lost"), (1, "1 reply was lost"), (2, "2 replies were lost")]
)
def test_what_is_counted(chinese: Tongue, count: int, english: str) -> None:
    lost = counted("{count} reply was lost", "{count} replies were lost", count=count)
    assert str(lost) == english
    assert chinese(lost) == f"丢失了 {count} 条回复"


def test_what_no_catalogue_has_is_said_in_english(chinese: Tongue) -> None:
    assert chinese(Sentence("never {seen}", seen="seen")) == "never seen"


def test_braces_stay_where_there_are_no_values(chinese: Tongue) -> None:
    assert str(Sentence('{"model": 1}')) == chinese(Sentence('{"model": 1}')) == '{"model": 1}'


def test_what_is_verbatim_is_said_as_it_is(chinese: Tongue) -> None:
    assert chinese(verbatim("nobody")) == str(verbatim("nobody")) == "nobody"
    assert chinese(verbatim("{braces}")) == "{braces}"


def test_several_are_one(chinese: Tongue) -> None:
    both = joined("; ", [Sentence("{name} is late", name=1), Sentence("nobody")])
    assert str(both) == "1 is late; nobody"
    assert chinese(both) == "1 迟到了; 没有人"
    assert not joined("; ", [])


def test_nothing_is_said_in_no_language(chinese: Tongue) -> None:
    assert not Sentence("") and chinese(Sentence("")) == ""


def test_sentences_are_equal_by_what_they_say() -> None:
    late = Sentence("{name} is late", name=1)
    assert late == Sentence("{name} is late", name=1) and hash(late) == hash(late.with_values(name=2))
    assert late != late.with_values(name=2)


def test_an_error_says_the_sentence_that_it_was_made_with() -> None:
    sentence = Sentence("{name} is late", name=1)
    error = ValueError(sentence)
    assert sentence_of(error) is sentence
    assert str(error) == "1 is late"
    assert str(sentence_of(ValueError("as it is {}"))) == "as it is {}"
