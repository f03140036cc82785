"""Which Markdown files of the repository are pages, and where each lies on the site."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from .words import Language

SOURCES = (
    "README*.md",
    "CONTRIBUTING*.md",
    "docs/*.md",
    "benchmarks/results/*.md",
    "chapters/[0-9][0-9]-*/*.md",
    "chapters/[0-9][0-9]-*/exercises/*/README*.md",
)


@dataclass(frozen=True)
class Page:
    """``source`` is a path below the repository's root; ``name`` what Sphinx calls the page."""

    source: PurePosixPath
    name: str
    language: Language

    @property
    def to_root(self) -> str:
        """The way from the page's folder up to that of all languages."""
        return "../" * (self.name.count("/") + 1)

    @property
    def address(self) -> str:
        """From the folder of all languages."""
        return f"{self.language}/{self.name}.html"


def page_of(source: PurePosixPath) -> Page:
    stem = source.name.removesuffix(".md")
    language: Language = "zh" if stem.endswith(".zh") else "en"
    stem = stem.removesuffix(".zh")
    name = "index" if stem == "README" else stem.lower() if stem.isupper() else stem
    return Page(source, str(source.with_name(name)), language)


class Pages:
    """All pages, by the file that each is made of."""

    def __init__(self, root: Path) -> None:
        self.root = root
        found = sorted({path for pattern in SOURCES for path in root.glob(pattern)})
        self.by_source = {
            page.source: page
            for page in (page_of(PurePosixPath(path.relative_to(root).as_posix())) for path in found)
        }

    def of(self, language: Language) -> list[Page]:
        return [page for page in self.by_source.values() if page.language == language]

    def text(self, page: Page) -> str:
        return (self.root / page.source).read_text("utf-8")

    def title(self, page: Page) -> str:
        """Its first heading."""
        return next(line for line in self.text(page).splitlines() if line.startswith("# "))[2:].strip()

    def only_english(self, folder: str) -> list[Page]:
        """The pages of a folder that there are no others of."""
        translated = {page.name for page in self.by_source.values() if page.language != "en"}
        own = (page for page in self.of("en") if str(page.source.parent) == folder)
        return [page for page in own if page.name not in translated]
