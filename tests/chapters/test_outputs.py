"""The commands of the chapters, their exercises and the README are run, and print what stands below them.

Every exercise is judged in one of the two languages, by turns, as that takes longest;
``scripts/fill_outputs.py --check`` judges each in both.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from fill_outputs import differences, fill, programs
from pages import ROOT, language_of, of_chapters, of_exercises, readmes
from running_server import Servers
from transcripts import BLOCK, FENCE, Command, TranscriptError, typed_in

OTHERS = [*of_chapters(), *readmes()]
PAGES = [*OTHERS, *of_exercises()]
ENGLISH = [page for page in PAGES if language_of(page) == "en"]
EXERCISES = [page for page in of_exercises() if language_of(page) == "en"]
BY_TURNS = [page.with_suffix(".zh.md") if turn % 2 else page for turn, page in enumerate(EXERCISES)]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


each_page = pytest.mark.parametrize("page", PAGES, ids=name)


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    with Servers() as servers:
        yield servers


@pytest.mark.parametrize("page", [*OTHERS, *BY_TURNS], ids=name)
def test_a_page_shows_what_its_commands_print(page: Path, servers: Servers, tmp_path: Path) -> None:
    lacking = {program for program in programs(page) if shutil.which(program) is None}
    found = list(differences(page, servers, tmp_path, lacking))
    assert not found, "if this is meant, run scripts/fill_outputs.py\n" + "\n".join(found)
    if lacking:
        pytest.skip(f"not on this machine: {', '.join(sorted(lacking))}. The other commands are right")


@each_page
def test_every_command_of_a_block_is_run_and_shows_something(page: Path) -> None:
    """So it stands in a block of ``console``."""
    text = page.read_text("utf-8")
    others = "\n".join(FENCE.findall(BLOCK.sub("", text)))
    assert not re.findall(r"^(?:\$ |minisgl-tutor |curl ).*", others, re.MULTILINE)
    assert all(each.shown for each in typed_in(text) if isinstance(each, Command))


@pytest.mark.parametrize("english", ENGLISH, ids=name)
def test_both_languages_show_the_same_of_the_same_commands(english: Path) -> None:
    def asked(page: Path) -> list[tuple[str | None, list[list[str]]]]:
        text = page.read_text("utf-8")
        return [
            (block["marker"], [each.line.split("#")[0].split() for each in typed_in(block[0])])
            for block in BLOCK.finditer(text)
        ]

    assert asked(english) == asked(english.with_suffix(".zh.md"))


@each_page
def test_commands_fit_a_terminal(page: Path) -> None:
    commands = [each for each in typed_in(page.read_text("utf-8")) if isinstance(each, Command)]
    assert not [line for each in commands for line in each.typed.splitlines() if len(line) > 80]


def page_of(folder: Path, *lines: str) -> Path:
    page = folder / "page.md"
    page.write_text("\n".join(lines) + "\n", "utf-8")
    return page


def test_what_is_not_so_is_found(tmp_path: Path) -> None:
    page = page_of(tmp_path, "```console", "$ minisgl-tutor --version", "minisgl-tutor 1.2.3.4", "```")
    (told,) = differences(page, Servers(), tmp_path)
    assert "The page shows:\n    minisgl-tutor 1.2.3.4\nThis is printed:\n    minisgl-tutor " in told


def test_a_command_in_the_text_that_fails_is_found(tmp_path: Path) -> None:
    page = page_of(tmp_path, "Try `minisgl-tutor trace --gap none`, or `minisgl-tutor gaps`.")
    (told,) = differences(page, Servers(), tmp_path)
    assert told.startswith("minisgl-tutor trace --gap none\nends with status 2:\n")


def test_a_page_is_filled_in_its_language_and_then_stays(tmp_path: Path) -> None:
    page = page_of(tmp_path, "<!-- output: 2 -->", "```console", "$ minisgl-tutor check 99", "```")
    page = page.rename(tmp_path / "page.zh.md")
    with pytest.raises(TranscriptError, match="there is no line 2"):
        fill(page, Servers(), tmp_path)
    page.write_text(page.read_text("utf-8").replace("2 -->", "$ -->"), "utf-8")
    assert fill(page, Servers(), tmp_path)
    assert "练习" in page.read_text("utf-8")
    assert not list(differences(page, Servers(), tmp_path))
    assert not fill(page, Servers(), tmp_path)
