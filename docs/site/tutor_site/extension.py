"""What the site adds to Sphinx: search in Chinese, colours of sessions, the way to the other language."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pygments.lexers.shell import BashSessionLexer
from sphinx.application import Sphinx

from .pages import Pages
from .search import SearchPairs
from .words import OTHER, WORDS, Language

ROOT = Path(__file__).resolve().parents[3]
MADE = ("search", "traces", "gaps", "docs/index")
"""Pages of every language that no file of the repository stands behind; so are the lists of exercises."""


class Session(BashSessionLexer):
    """What is typed begins with ``$``. A line that begins with ``#`` or ``>`` is one of a trace."""

    _ps1rgx = re.compile(r"^(\$ )(.*\n?)")
    _ps2 = "\0"


def other_language(pages: Pages, name: str, language: Language) -> dict[str, Any]:
    """Where the same page is in the other language, or else that one's first page."""
    other = OTHER[language]
    names = {page.name for page in pages.of(other)}
    same = name in MADE or name in names or name.endswith("/exercises/index")
    way = "../" * (name.count("/") + 1)
    return {
        "href": f"{way}{other}/{name if same else 'index'}.html",
        "language": "zh-CN" if other == "zh" else other,
        "name": WORDS[other]["name"],
        "same": same,
    }


def setup(app: Sphinx) -> dict[str, bool]:
    pages = Pages(ROOT)

    def say_other_language(
        app: Sphinx, name: str, template: str, context: dict[str, Any], doctree: object
    ) -> None:
        language: Language = "zh" if app.config.language.startswith("zh") else "en"
        context["other_language"] = other_language(pages, name, language)
        context["as_file"] = WORDS[language]["as file"]

    app.add_search_language(SearchPairs)
    app.add_lexer("console", Session)
    app.connect("html-page-context", say_other_language)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
