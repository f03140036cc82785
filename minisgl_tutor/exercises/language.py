"""Which language a reader is spoken to in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

Language = Literal["en", "zh"]

LANGUAGES: tuple[Language, ...] = get_args(Language)

VARIABLE = "MINISGL_TUTOR_LANG"


def language(environ: Mapping[str, str]) -> Language:
    """The language of ``MINISGL_TUTOR_LANG``, else of the locale, else English."""
    for name in (VARIABLE, "LC_ALL", "LC_MESSAGES", "LANG"):
        if value := environ.get(name, ""):
            return "zh" if value.lower().startswith("zh") else "en"
    return "en"
