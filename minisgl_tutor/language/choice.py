"""Which language a reader is spoken to in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

Language = Literal["en", "zh"]

LANGUAGES: tuple[Language, ...] = get_args(Language)

VARIABLE = "MINISGL_TUTOR_LANG"


def chosen(environ: Mapping[str, str], setting: Language | None = None) -> Language:
    """The language of ``MINISGL_TUTOR_LANG``, else of the setting, else of the locale, else English."""
    if value := environ.get(VARIABLE, ""):
        return _of(value)
    if setting is not None:
        return setting
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := environ.get(name, ""):
            return _of(value)
    return "en"


def _of(value: str) -> Language:
    return "zh" if value.lower().startswith("zh") else "en"
