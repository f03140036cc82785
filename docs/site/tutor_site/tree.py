"""Writes what Sphinx reads for one language: the pages of the repository, and those made here."""

from __future__ import annotations

import posixpath
import re
import shutil
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from minisgl_tutor.exercises.catalogue import exercises

from . import exercises as drills
from .gaps import gaps_page
from .links import Links, to_name, to_page
from .names import linked
from .pages import Page, Pages
from .prose import (
    outside_code,
    unfolded_lines,
    with_exercises,
    with_links,
    with_long_names,
    with_pictures,
    without_comments,
)
from .traces import Traces, traces_page
from .words import DOCUMENTS_IN_CHINESE, WORDS, Language

CHAPTERS = ("chapters/02-request-journey", "chapters/05-http-service")
CLAIMS = "docs/claims"
LOOK_UP = ("claims", "openai-fields", "operations", "cases", "stepping", "trace-page", "recording-format")
"""The documents for who uses the server; all others are for who works on it."""

CLAIM_ROW = re.compile(r"^\| (C\d+\.\d+) \|", re.MULTILINE)
FIRST_SECTION = re.compile(r"^## ", re.MULTILINE)


class Tree:
    """The pages of one language."""

    def __init__(self, pages: Pages, traces: Traces, language: Language) -> None:
        self.pages = pages
        self.traces = traces
        self.language = language
        self.words = WORDS[language]
        self.places = drills.places(pages, language)
        self.drills = {drills.page_name(exercise): exercise for exercise in exercises()}
        folders = {f"{chapter}/scenes": "traces" for chapter in CHAPTERS}
        folders |= {f"{chapter}/exercises": f"{chapter}/exercises/index" for chapter in CHAPTERS}
        self.links = Links(pages, folders)

    def write(self, into: Path) -> set[PurePosixPath]:
        """Returns the files of the repository that the pages link to."""
        texts = {page.name: self.text(page) for page in self.pages.of(self.language)} | self.made()
        for name, text in texts.items():
            target = into / f"{name}.md"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, "utf-8")
        for figures in self.pages.root.glob("chapters/*/figures"):
            shutil.copytree(figures, into / figures.relative_to(self.pages.root))
        return self.links.copied

    def made(self) -> dict[str, str]:
        """The pages that no file of the repository stands behind, by name."""
        lists = (self._made(f"{chapter}/exercises/index") for chapter in CHAPTERS)
        made = {page.name: drills.list_page(page, self.places, self.pages) for page in lists}
        made["traces"] = traces_page(self.traces, self._made("traces"))
        made["gaps"] = gaps_page(self.traces, self._made("gaps"), f"en/{CLAIMS}.html")
        made["docs/index"] = self.reference(self._made("docs/index"))
        return made

    def text(self, page: Page) -> str:
        """What the site has in the place of the file's text."""
        text = self.traces.embedded(self.pages.text(page), page.to_root, self.language)
        text = outside_code(text, lambda prose: self.prose(page, prose))
        if page.name == CLAIMS:
            text = CLAIM_ROW.sub(r'| <span id="\1"></span>\1 |', text)
        if page.name == "index":
            text = FIRST_SECTION.sub(lambda section: f"{self.welcome(page)}\n{section[0]}", text, count=1)
            text += self.contents()
        if posixpath.dirname(page.name) in CHAPTERS and page.name.endswith("/index"):
            text += toctree(self.inside(page))
        if page.name in self.drills:
            text += drills.tail(page, self.drills[page.name], self.places, self.pages)
        return text

    def prose(self, page: Page, prose: str) -> str:
        prose = with_exercises(with_pictures(without_comments(prose)))
        if self.language == "zh":
            prose = unfolded_lines(prose)
        prose = with_links(
            prose,
            lambda text, target: self.links.link(page, text, target),
            lambda code: linked(page, code, self.traces),
        )
        return with_long_names(prose)

    def welcome(self, page: Page) -> str:
        """Where to go from the first page."""
        titles = {each.name: self.pages.title(each) for each in self.pages.of(self.language)}
        targets = {f"{chapter}/index": titles[f"{chapter}/index"] for chapter in CHAPTERS}
        lists = (f"{chapter}/exercises" for chapter in CHAPTERS)
        targets |= {f"{each}/index": drills.list_title(each, self.language) for each in lists}
        targets |= {name: self.words[name] for name in ("traces", "gaps")}
        return "".join(f"- {to_name(page, name, title)}\n" for name, title in targets.items())

    def contents(self) -> str:
        """The tree of all pages, in the order of the bar at the side."""
        names = [page.name for page in self.pages.of(self.language)]
        look_up = [name for name in (f"docs/{each}" for each in LOOK_UP) if name in names]
        work = [name for name in names if name.startswith(("contributing", "docs/")) and name not in look_up]
        return "".join(
            toctree(listed, self.words[caption])
            for caption, listed in {
                "read": [f"{chapter}/index" for chapter in CHAPTERS],
                "look": ["traces", "gaps"],
                "look up": ["docs/index", *look_up],
                "work": work,
                "measured": [name for name in names if name.startswith("benchmarks/")],
            }.items()
        )

    def inside(self, first: Page) -> list[str]:
        """What else there is in a chapter."""
        folder = first.source.parent
        pages = [page for page in self.pages.of(self.language) if page.source.parent == folder]
        return [*(posixpath.basename(page.name) for page in pages if page != first), "exercises/index"]

    def reference(self, page: Page) -> str:
        """The list of the documents, with those that there are in English alone."""
        listed = {
            each: self.pages.title(each)
            for each in self.pages.of(self.language)
            if each.source.parts[0] == "docs"
        }
        if self.language == "zh":
            for each in self.pages.only_english("docs"):
                listed[each] = DOCUMENTS_IN_CHINESE.get(each.source.stem, self.pages.title(each))
        lines = [f"# {self.words['reference']}", "", self.words["reference intro"], ""]
        lines += [f"- {to_page(page, each, title)}" for each, title in listed.items()]
        return "\n".join([*lines, ""])

    def _made(self, name: str) -> Page:
        return Page(PurePosixPath(f"{name}.md"), name, self.language)


def toctree(names: Iterable[str], caption: str = "") -> str:
    """Of the pages below this one; nothing, if there are none."""
    listed = list(names)
    if not listed:
        return ""
    options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
    return "\n".join(["", "```{toctree}", *options, "", *listed, "```", ""])
