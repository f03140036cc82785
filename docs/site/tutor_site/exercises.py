"""The exercises, and the places of the chapters that each belongs to."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from myst_parser.slugs import github_slugify

from minisgl_tutor.exercises.catalogue import Exercise, exercises, resolve
from minisgl_tutor.resources import chapters_dir

from .links import to_name
from .pages import Page, Pages
from .prose import FENCED
from .words import WORDS, Language

STARTS = re.compile(r"`minisgl-tutor (?:start|check|watch|hint|diff|solution|reset) ([\w.-]+)`")
LINKED = re.compile(r"\]\((exercises/[\w-]+)/README(?:\.zh)?\.md\)")
HEADING = re.compile(r"^#{1,4} (.+)$", re.MULTILINE)
COMMANDS = ("start", "check", "watch", "hint", "diff", "solution")


@dataclass(frozen=True)
class Place:
    """A section of a chapter's page."""

    page: Page
    heading: str

    @property
    def anchor(self) -> str:
        return "#" + str(github_slugify(self.heading.replace("`", "")))


def page_name(exercise: Exercise) -> str:
    return f"{folder(exercise)}/index"


def folder(exercise: Exercise) -> str:
    return (PurePosixPath("chapters") / exercise.path.relative_to(chapters_dir()).as_posix()).as_posix()


def places(pages: Pages, language: Language) -> dict[str, list[Place]]:
    """By the folder of an exercise: where its start is told, or else where it is linked."""
    started: dict[str, list[Place]] = {}
    linked: dict[str, list[Place]] = {}
    for page in pages.of(language):
        if page.source.parts[0] != "chapters" or "exercises" in page.source.parts:
            continue
        prose = FENCED.sub("", pages.text(page))
        headings = list(HEADING.finditer(prose))

        def place(at: int, page: Page = page, headings: list[re.Match[str]] = headings) -> Place:
            return Place(page, [each[1] for each in headings if each.start() < at][-1])

        for found in STARTS.finditer(prose):
            _add(started, folder(resolve(found[1])), place(found.start()))
        for found in LINKED.finditer(prose):
            _add(linked, f"{page.source.parent}/{found[1]}", place(found.start()))
    return linked | started


def _add(where: dict[str, list[Place]], name: str, place: Place) -> None:
    if place not in where.setdefault(name, []):
        where[name].append(place)


def to_place(page: Page, place: Place, pages: Pages) -> str:
    """A link to the section, by the names of its page and itself."""
    title = pages.title(place.page)
    if place.heading == title:
        return to_name(page, place.page.name, title)
    return to_name(page, place.page.name, f"{title} › {place.heading}", place.anchor)


def tail(page: Page, exercise: Exercise, found: dict[str, list[Place]], pages: Pages) -> str:
    """What stands below the text of an exercise: where it belongs, and its command lines."""
    words = WORDS[page.language]
    lines = ["", f"## {words['belongs to']}", ""]
    lines += [f"- {to_place(page, place, pages)}" for place in found.get(folder(exercise), [])]
    chapter = posixpath.dirname(folder(exercise))
    lines += [f"- {to_name(page, f'{chapter}/index', list_title(chapter, page.language))}"]
    lines += ["", f"## {words['commands']}", "", "| | |", "|---|---|"]
    lines += [f"| `minisgl-tutor {command} {exercise.name}` | {words[command]} |" for command in COMMANDS]
    return "\n".join(lines) + "\n"


def list_title(folder: str, language: Language) -> str:
    """Of the page of this folder: ``chapters/05-http-service/exercises`` and the like."""
    chapter = int(PurePosixPath(folder).parts[1][:2])
    return WORDS[language]["exercises of"].format(chapter=chapter)


def list_page(page: Page, found: dict[str, list[Place]], pages: Pages) -> str:
    """The page of the folder of a chapter's exercises."""
    words = WORDS[page.language]
    here = posixpath.dirname(page.name)
    own = [each for each in exercises() if posixpath.dirname(folder(each)) == here]
    lines = [f"# {list_title(here, page.language)}", "", words["exercises intro"], ""]
    lines += [f"| {words['exercise']} | | {words['belongs to']} |", "|---|---|---|"]
    titles = {each.name: pages.title(each) for each in pages.of(page.language)}
    for exercise in own:
        name = page_name(exercise)
        belongs = "<br>".join(to_place(page, place, pages) for place in found.get(folder(exercise), []))
        lines.append(f"| `{exercise.name}` | {to_name(page, name, titles[name])} | {belongs} |")
    lines += ["", "```{toctree}", ":hidden:", ""]
    lines += [posixpath.relpath(page_name(exercise), here) for exercise in own]
    return "\n".join([*lines, "```", ""])
