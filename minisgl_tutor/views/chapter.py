"""The text of a chapter, as a terminal can show it."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from ..language import Language, Sentence, Tongue
from ..resources import chapters_dir
from .breaks import BREAK, is_wide, may_break
from .code_block import Markdown

FIRST_PAGE = "README"
ENDINGS: dict[Language, str] = {"en": ".md", "zh": ".zh.md"}
AT_THE_END = Sentence("{summary} (number {number} at the end)")
ANSWERS = Sentence("Answers")

COMMENT = re.compile(r"^<!--.*?-->\n|<!--.*?-->", re.MULTILINE | re.DOTALL)
NAVIGATION = re.compile(r"^\*\*\[(?:中文|English)\]\([^)]+\)\*\*.*\n", re.MULTILINE)
DETAILS = re.compile(r"<details>\s*<summary>(.*?)</summary>(.*?)</details>", re.DOTALL)
PICTURE = re.compile(r'<picture>.*?<img src="([^"]+)" alt="([^"]*)"></picture>', re.DOTALL)
IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
LINK_IN_CHAPTERS = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:)[^)\s]+\)")
FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)

PARTS_OF_NAMES = re.compile(r"(?<=\w)[/._](?=\w)")


class ChapterNotFound(ValueError):
    """There is no such chapter or page. The message names those that there are."""


def chapter_file(number: int, language: Language, page: str = FIRST_PAGE) -> Path:
    """The Markdown of a page of a chapter, by the file's name without its ending.

    Raises:
        ChapterNotFound: there is none.
    """
    chapters = {int(path.parent.name[:2]): path for path in _first_pages(language)}
    if number not in chapters:
        raise ChapterNotFound(
            Sentence(
                "chapter {number} has no text; the chapters that have one are: {listed}",
                number=number,
                listed=", ".join(map(str, sorted(chapters))) or Sentence("none yet"),
            )
        )
    first = chapters[number]
    pages = _pages(first, language)
    if page not in pages:
        raise ChapterNotFound(
            Sentence(
                "chapter {number} has no page {page!r}; its pages beside the first one are: {others}",
                number=number,
                page=page,
                others=", ".join(sorted(pages - {FIRST_PAGE})) or Sentence("none"),
            )
        )
    return first.with_name(page + ENDINGS[language])


def titles(language: Language) -> dict[int, dict[str, str]]:
    """The chapters that have a text: by number their pages, the first one first, with the title of each."""
    return {
        int(first.parent.name[:2]): {
            page: chapter_file(int(first.parent.name[:2]), language, page)
            .read_text("utf-8")
            .partition("\n")[0]
            .lstrip("# ")
            for page in (FIRST_PAGE, *sorted(_pages(first, language) - {FIRST_PAGE}))
        }
        for first in sorted(_first_pages(language))
    }


def _pages(first: Path, language: Language) -> set[str]:
    """The names of a chapter's pages in one language, by its first one."""
    ending = ENDINGS[language]
    names = {path.name.removesuffix(ending) for path in first.parent.glob(f"*{ending}")}
    return {name for name in names if "." not in name}


def _first_pages(language: Language) -> list[Path]:
    return list(chapters_dir().glob(f"[0-9][0-9]-*/{FIRST_PAGE}{ENDINGS[language]}"))


def rendered(file: Path, say: Tongue, width: int, styled: bool) -> str:
    """A chapter in lines of at most ``width`` cells; ``styled`` with the codes that a terminal obeys."""
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=styled, highlight=False)
    text = outside_code(file.read_text("utf-8"), lambda prose: breakable(plain(prose, file.parent)))
    console.print(Markdown(unfolded(text, say), code_theme="ansi_dark", hyperlinks=False))
    lines = out.getvalue().replace(BREAK, "").splitlines()
    return "\n".join(lines if styled else [line.rstrip() for line in lines]) + "\n"


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """``text`` with all but its fenced blocks changed."""
    return "".join(part if part.startswith("```") else change(part) for part in FENCED.split(text))


def plain(prose: str, folder: Path) -> str:
    """Without comments and links that lead nowhere from a terminal; an image is named by its file."""
    prose = NAVIGATION.sub("", COMMENT.sub("", prose))
    prose = PICTURE.sub(r"![\2](\1)", prose)
    prose = IMAGE.sub(lambda image: f"*{image[1]}* (`{folder / image[2]}`)", prose)
    return LINK_IN_CHAPTERS.sub(r"\1", prose)


def unfolded(text: str, say: Tongue) -> str:
    """With the answers that a browser would fold at the end, by numbers.

    What is folded below a picture is the same drawn in letters. It stays: here it is the picture.
    """
    answers: list[str] = []

    def moved(found: re.Match[str]) -> str:
        if FENCED.fullmatch(found[2].strip()):
            return found[2].strip()
        answers.append(found[2].strip())
        return f"*{say(AT_THE_END.with_values(summary=found[1].strip(), number=len(answers)))}*"

    text = DETAILS.sub(moved, text)
    if not answers:
        return text
    listed = [f"**{number}.** {answer}" for number, answer in enumerate(answers, 1)]
    return "\n\n".join([text.rstrip(), f"## {say(ANSWERS)}", *listed]) + "\n"


def breakable(prose: str) -> str:
    """With a :data:`BREAK` wherever East Asian text may be broken, as it has no spaces.

    So may names in a table, as its cells would be cut. Where the source of East Asian text goes on in
    the next line, no space is meant.
    """
    prose = re.sub(
        r"^\|.*", lambda row: PARTS_OF_NAMES.sub(rf"\g<0>{BREAK}", row[0]), prose, flags=re.MULTILINE
    )
    pieces = [prose[:1]]
    for before, after, later in zip(prose, prose[1:], f"{prose[2:]} ", strict=False):
        if after == "\n" and is_wide(before) and is_wide(later):
            continue
        pieces.append(BREAK + after if may_break(before, after) else after)
    return "".join(pieces)
