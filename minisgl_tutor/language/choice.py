"""Which language a reader is spoken to in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

Language = Literal["en", "zh"]

LANGUAGES: tuple[Language, ...] = get_args(Language)

VARIABLE = "MINISGL_TUTOR_LANG"


@dataclass(frozen=True)
class Choice:
    """A language, and what has chosen it: a variable's name, ``SETTING``, or nothing."""

    language: Language
    by: str


SETTING = "setting"


def chosen(environ: Mapping[str, str], setting: Language | None = None) -> Choice:
    """The language of ``MINISGL_TUTOR_LANG``, else of the setting, else of the locale, else English."""
    if value := environ.get(VARIABLE, ""):
        return Choice(_of(value), VARIABLE)
    if setting is not None:
        return Choice(setting, SETTING)
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := environ.get(name, ""):
            return Choice(_of(value), name)
    return Choice("en", "")


def _of(value: str) -> Language:
    return "zh" if value.lower().startswith("zh") else "en"
