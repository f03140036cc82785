"""The site says the same in each language."""

from __future__ import annotations

from string import Formatter

from tutor_site.words import LANGUAGES, WORDS


def test_every_language_has_every_word_and_its_values() -> None:
    values = [
        {
            name: {field for _, field, _, _ in Formatter().parse(text) if field}
            for name, text in WORDS[language].items()
        }
        for language in LANGUAGES
    ]
    assert all(each == values[0] for each in values)
