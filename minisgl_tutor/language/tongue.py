"""Says sentences in one language, from the catalogues (gettext) that come with the package."""

from __future__ import annotations

import gettext
from functools import cached_property
from pathlib import Path
from typing import Any

from .choice import Language
from .sentence import Sentence

CATALOGUES = Path(__file__).parent / "catalogues"


class Tongue:
    """``say(sentence)`` is the sentence in this language; in English if the catalogues do not have it."""

    def __init__(self, language: Language) -> None:
        self.language = language

    def __call__(self, sentence: Sentence) -> str:
        if self.language == "en" or not sentence:  # gettext answers nothing with its header
            return str(sentence)
        if sentence.more:
            text = self._catalogues.ngettext(sentence.text, sentence.more, sentence.values["count"])
        else:
            text = self._catalogues.gettext(sentence.text)
        return Sentence.filled(text, {name: self._said(value) for name, value in sentence.values.items()})

    def _said(self, value: Any) -> Any:
        return self(value) if isinstance(value, Sentence) else value

    @cached_property
    def _catalogues(self) -> gettext.NullTranslations:
        """All of the language's catalogues, each the fallback of the one before."""
        found = gettext.NullTranslations()
        for file in sorted((CATALOGUES / self.language).glob("*.mo")):
            with file.open("rb") as catalogue:
                found.add_fallback(gettext.GNUTranslations(catalogue))
        return found


ENGLISH = Tongue("en")
