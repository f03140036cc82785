"""The texts of the chapters: what they cover, and that their links and commands lead somewhere.

A chapter is looked at once its first page is there, and then in both languages.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from pages import ROOT, of_exercises, readmes
from transcripts import Command, typed_in
from typer.main import get_command

from minisgl_tutor.cli.caller import without_language
from minisgl_tutor.cli.main import app
from minisgl_tutor.exercises.catalogue import Exercise, exercises
from minisgl_tutor.exercises.catalogue import resolve as resolve_exercise
from minisgl_tutor.gaps import resolve as resolve_gaps
from minisgl_tutor.resources import chapters_dir
from minisgl_tutor.trace.claims import claim, read_claims
from minisgl_tutor.trace.scenes import scenes_of

CLAIMS = {number: each for family in read_claims().values() for number, each in family.items()}
CHAPTERS = sorted(path.parent for path in chapters_dir().glob("[0-9][0-9]-*/README.md"))
ENGLISH = [
    page for chapter in CHAPTERS for page in sorted(chapter.glob("*.md")) if not page.name.endswith(".zh.md")
]
PAIRS = [(page, page.with_suffix(".zh.md")) for page in ENGLISH]
TEXTS = [page for pair in PAIRS for page in pair]

COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)
NUMBER = re.compile(r"\b[CK]\d\.\d+\b")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"^```python\n((?:(?!```).*\n)+)```\n\n```text\n((?:(?!```).*\n)+)```$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
PROGRAM = get_command(app)
WITH_EXERCISE = {"start", "check", "watch", "hint", "diff", "solution", "reset"}

each_chapter = pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.name)
each_pair = pytest.mark.parametrize(("english", "chinese"), PAIRS, ids=lambda path: path.name)
each_text = pytest.mark.parametrize("text", TEXTS, ids=lambda path: f"{path.parent.name}/{path.name}")


def claimed(text: Path) -> set[str]:
    """The claims that the comments of a text name."""
    return {each for comment in COMMENT.findall(text.read_text("utf-8")) for each in NUMBER.findall(comment)}


def markers(text: Path) -> list[str]:
    return re.findall(r"^<!-- ((?:code|trace): .+) -->$", text.read_text("utf-8"), re.MULTILINE)


def commands(text: str) -> list[list[str]]:
    """What follows ``minisgl-tutor`` in a text's blocks of commands, and between backticks."""
    typed = typed_in(text.replace("`.venv/bin/", "`"))
    lines = [each.line if isinstance(each, Command) else each for each in typed]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("minisgl-tutor ")]


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.replace("`", "").strip().lower()).replace(" ", "-")


@each_chapter
def test_every_concept_is_covered(chapter: Path) -> None:
    """Those of chapter 2 are C2.x; those of chapter 5 are C5.x, and K5.x of its concepts."""
    mark = str(int(chapter.name[:2]))
    wanted = {number for number, each in CLAIMS.items() if each.kind == "concept" and number[1] == mark}
    covered = set().union(*(claimed(page) for page in ENGLISH if page.parent == chapter))
    assert not wanted - covered


@each_text
def test_no_claim_is_named_that_does_not_exist(text: Path) -> None:
    assert not claimed(text) - set(CLAIMS)


@each_pair
def test_both_languages_have_the_same_claims_and_excerpts(english: Path, chinese: Path) -> None:
    assert claimed(english) == claimed(chinese)
    assert markers(english) == markers(chinese)


@each_text
def test_no_mark_of_emphasis_is_left_in_the_text(text: Path) -> None:
    """As in ``**动手：**用``, where Markdown sees no end."""
    inline = [token for token in MarkdownIt().parse(text.read_text("utf-8")) if token.type == "inline"]
    words = [child.content for token in inline for child in token.children or () if child.type == "text"]
    assert not [each for each in words if "**" in each]


@each_text
def test_answers_are_folded(text: Path) -> None:
    content = text.read_text("utf-8")
    assert content.count("<details>") == content.count("<summary>") == content.count("</details>") > 0


@each_text
def test_links_lead_somewhere(text: Path) -> None:
    content = FENCE.sub("", text.read_text("utf-8"))
    for link in LINK.findall(content):
        if link.startswith("https://"):
            continue
        file, _, anchor = link.partition("#")
        target = (text.parent / file).resolve() if file else text
        assert target.exists(), link
        if anchor:
            assert anchor in [slug(each) for each in HEADING.findall(target.read_text("utf-8"))], link


@pytest.mark.parametrize(
    "text", [*TEXTS, *of_exercises(), *readmes()], ids=lambda path: str(path.relative_to(ROOT))
)
def test_commands_can_be_typed(text: Path) -> None:
    found = commands(text.read_text("utf-8"))
    assert found
    for words in found:
        if words != ["COMMAND", "--help"]:
            check(words)


@pytest.mark.parametrize(
    "line",
    [
        "trace --chapter five",
        "trace --chapter 5 --scene none",
        "trace --gap none",
        "trace --claim C9.1",
        "trace --no-such-option",
        "start exercise-99",
        "no-such-command",
    ],
)
def test_a_command_that_cannot_be_typed_is_found(line: str) -> None:
    with pytest.raises((Exception, SystemExit)):
        check(line.split())


def check(words: list[str]) -> None:
    """Parses a command line as the program does; what it names exists.

    Raises:
        Exception: it cannot be parsed, or names something that is not there.
    """
    command: Any = PROGRAM
    words, _ = without_language(words)
    context = command.make_context("minisgl-tutor", list(words))
    while hasattr(command, "resolve_command"):
        name, command, words = command.resolve_command(context, list(words))
        context = command.make_context(name, list(words), parent=context)
    given = context.params
    if given.get("chapter") is not None and context.info_name == "trace":
        scenes_of(given["chapter"], given["scene"])
    if given.get("gap"):
        resolve_gaps(given["gap"])
    if given.get("claim"):
        claim(given["claim"])
    if context.info_name in WITH_EXERCISE:
        assert len(words) > 0
        for exercise in words:
            if not exercise.startswith("-"):
                resolve_exercise(exercise)


@each_text
def test_examples_print_what_stands_below_them(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Blocks of Python that are not excerpts, with the block of their output."""
    for program, output in EXAMPLE.findall(text.read_text("utf-8")):
        if not program.startswith("# minisgl_tutor/"):
            exec(compile(program, text.name, "exec"), {})
            assert capsys.readouterr().out == output


@pytest.mark.parametrize("exercise", exercises(), ids=lambda exercise: exercise.key)
def test_an_exercise_has_one_title(exercise: Exercise) -> None:
    """In the lists of the tool and above its text, but for the first letter."""
    for language, name in (("en", "README.md"), ("zh", "README.zh.md")):
        heading = (exercise.path / name).read_text("utf-8").partition("\n")[0]
        title = str(exercise.sentences[language]["title"])
        assert re.split(r"[:：] ?", heading, maxsplit=1)[1].lower() == title.lower()


ANSWERS = {
    "02-request-journey/README": {
        "exercise-1": "TokenizeWorker._tokenize",
        "exercise-2": "Scheduler._schedule_next_batch",
        "exercise-3": "Scheduler._process_one_msg",
        "exercise-4": "Scheduler._finish_reason",
    },
    "05-http-service/walkthrough": {
        "exercise-2": "_complete",
        "exercise-3": "FrontendManager.file_reply",
        "exercise-4": "FrontendManager.wait_for_ack",
        "exercise-5": "FrontendManager.file_reply",
        "exercise-6": "FrontendManager.stream_chat_completions",
        "exercise-7": "FrontendManager.own",
        "concept-7": "FrontendManager.end_user",
        "exercise-9": "TokenizeWorker._tokenize",
    },
}
"""The code in a text that answers an exercise."""


@pytest.mark.parametrize("ending", [".md", ".zh.md"])
@pytest.mark.parametrize(
    ("page", "exercise"), [(page, exercise) for page, those in ANSWERS.items() for exercise in those]
)
def test_an_exercise_is_asked_for_before_the_code_that_answers_it(
    page: str, exercise: str, ending: str
) -> None:
    text = (chapters_dir() / f"{page}{ending}").read_text("utf-8")
    asked, answered = text.index(f"exercises/{exercise}/"), text.index(f".py {ANSWERS[page][exercise]} -->")
    assert asked < answered
