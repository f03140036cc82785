"""Where a link of a Markdown file leads on the site."""

from __future__ import annotations

import posixpath
from html import escape
from pathlib import PurePosixPath

from .pages import Page, Pages

FILES = "files"
"""The folder of the site with copies of files that pages link to."""


class DeadLink(ValueError):
    """A link leads to nothing. The message names the page and the target."""


class Links:
    """Resolves links, and keeps which files have to be copied.

    ``folders`` says which generated page stands for a folder of the repository.
    """

    def __init__(self, pages: Pages, folders: dict[str, str]) -> None:
        self.pages = pages
        self.folders = folders
        self.copied: set[PurePosixPath] = set()

    def link(self, page: Page, text: str, target: str) -> str:
        """The Markdown of a link that ``page`` has in the repository.

        Raises:
            DeadLink: there is nothing there.
        """
        path, _, anchor = target.partition("#")
        if not path or path.startswith(("http:", "https:", "mailto:")):
            return f"[{text}]({target})"
        where = PurePosixPath(posixpath.normpath(str(page.source.parent / path)))
        anchor = f"#{anchor}" if anchor else ""
        if where in self.pages.by_source:
            return to_page(page, self.pages.by_source[where], text, anchor)
        if str(where) in self.folders:
            return to_name(page, self.folders[str(where)], text)
        if (self.pages.root / where).is_dir():
            return text
        if not (self.pages.root / where).is_file():
            raise DeadLink(f"{page.source}: [{text}]({target}) leads to nothing")
        self.copied.add(where)
        return raw(f"{page.to_root}{FILES}/{where}.txt", text)


def to_page(page: Page, other: Page, text: str, anchor: str = "") -> str:
    if other.language == page.language:
        return to_name(page, other.name, text, anchor)
    return raw(f"{page.to_root}{other.address}{anchor}", text, other.language)


def to_name(page: Page, name: str, text: str, anchor: str = "") -> str:
    """A link to a page of the same language."""
    way = posixpath.relpath(f"{name}.md", posixpath.dirname(page.name) or ".")
    return f"[{text}]({way}{anchor})"


def raw(address: str, text: str, language: str = "") -> str:
    """A link to what is no page of this language: Sphinx is not to look for it."""
    lang = f' hreflang="{language}"' if language else ""
    return f'<a href="{escape(address)}"{lang}>{text}</a>'
