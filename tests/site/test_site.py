"""What is on the site. That no link is dead and nothing comes from elsewhere, the build has proved itself."""

from __future__ import annotations

import re
from html import unescape
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from babel.messages.pofile import read_po

from minisgl_tutor.exercises.catalogue import exercises
from minisgl_tutor.gaps import GAPS
from minisgl_tutor.resources import chapters_dir
from minisgl_tutor.trace.scenes import scenes_of
from tests.language.english import english_left

ROOT = Path(__file__).resolve().parents[2]
JOURNEY = "chapters/02-request-journey/index"
WALKTHROUGH = "chapters/05-http-service/walkthrough"
CODE = re.compile(r"<(script|style|pre|code)\b.*?</\1>", re.DOTALL)
TAG = re.compile(r"<[^>]+>")
languages = pytest.mark.parametrize("language", ["en", "zh"])


def links(html: str) -> list[str]:
    return re.findall(r'<a [^>]*href="([^"]+)"', html)


def folder(path: Path) -> str:
    return f"chapters/{path.relative_to(chapters_dir()).as_posix()}"


def test_the_first_page_leads_to_both_languages(site: Any) -> None:
    assert links(site.text("index")) == ["en/index.html", "zh/index.html"]


@languages
def test_every_page_leads_to_the_other_language(site: Any, language: str) -> None:
    other = "zh" if language == "en" else "en"
    there = set(site.pages(other))
    for page in site.pages(language):
        way = "../" * (page.count("/") + 1)
        same = page if page in there else "index"
        assert f'<a class="muted-link" href="{way}{other}/{same}.html"' in site.text(f"{language}/{page}"), (
            page
        )


def test_what_the_theme_says_is_said_in_the_language_of_the_page(site: Any) -> None:
    """The English page still has each of its words that were translated, and the Chinese one has none."""
    catalogue = ROOT / "docs" / "site" / "locale" / "zh_CN" / "LC_MESSAGES" / "sphinx.po"
    english, chinese = (
        re.sub(r"<article.*?</article>", "", site.text(f"{language}/{JOURNEY}"), flags=re.DOTALL)
        + "".join(re.findall(r"<noscript>.*?</noscript>", site.text(f"{language}/search"), re.DOTALL))
        for language in ("en", "zh")
    )
    for message in read_po(BytesIO(catalogue.read_bytes())):
        word = str(message.id).strip()
        if word and word not in str(message.string):
            said = re.compile(rf"(?<!\w){re.escape(word)}")
            assert said.search(english) and not said.search(chinese), word


def test_no_english_sentence_is_on_a_chinese_page(site: Any) -> None:
    """Code, and what a terminal shows, apart."""
    left = {
        page: found
        for page in site.pages("zh")
        if (found := english_left(unescape(TAG.sub("\n", CODE.sub("", site.text(f"zh/{page}"))))))
    }
    assert not left


@languages
def test_only_what_is_typed_has_the_colours_of_a_command(site: Any, language: str) -> None:
    """A step begins with ``#``, which is no prompt here, and the present one on a screen with ``>``."""
    text = site.text(f"{language}/chapters/05-http-service/concepts")
    assert '<span class="go">#84    0.275878 s' in text
    assert '<span class="go">&gt; #1     0.001000 s' in text


def test_chapters_exercises_traces_and_gaps_are_there_in_both_languages(site: Any) -> None:
    pages = {f"{folder(exercise.path)}/index" for exercise in exercises()}
    pages |= {JOURNEY, WALKTHROUGH, "chapters/05-http-service/concepts"}
    pages |= {"index", "traces", "gaps", "search", "docs/index"}
    assert pages <= set(site.pages("en"))
    assert pages <= set(site.pages("zh"))


def test_every_document_is_there_and_no_solution(site: Any) -> None:
    documents = {f"docs/{path.stem}" for path in (chapters_dir().parent / "docs").glob("*.md")}
    assert {name for name in documents if not name.endswith(".zh")} <= set(site.pages("en"))
    assert not [path for path in site.folder.rglob("*") if path.parent.name in ("solutions", "wrong")]


@languages
def test_every_exercise_leads_to_its_place_in_the_chapter_and_back(site: Any, language: str) -> None:
    for exercise in exercises():
        page = f"{folder(exercise.path)}/index"
        text = site.text(f"{language}/{page}")
        assert f"minisgl-tutor start {exercise.name}" in re.sub("<[^>]+>", "", text)
        chapter = folder(exercise.path.parents[1])
        places = [link for link in links(text) if re.fullmatch(r"\.\./\.\./(\w+)\.html#[^#]+", link)]
        assert places, f"{exercise.name} belongs nowhere"
        for place in places:
            name = place.removeprefix("../../").partition(".")[0]
            back = f"exercises/{exercise.path.name}/index.html"
            assert back in links(site.text(f"{language}/{chapter}/{name}")), (
                f"{chapter}/{name} to {exercise.name}"
            )


@languages
def test_the_traces_are_where_the_chapter_speaks_of_them(site: Any, language: str) -> None:
    text = site.text(f"{language}/{WALKTHROUGH}")
    frames = re.findall(r'<iframe data-src="\.\./\.\./\.\./traces/([\w-]+)\.html#([^"]+)"', text)
    assert [name for name, _ in frames] == [  # once each, in the order of the text
        "normal-end",
        "interleaved",
        "client-leaves",
        "non-streaming-client-leaves",
        "over-long-prompt",
        "slow-reader",
        "overtaking-abort",
    ]
    assert all(f"lang={language}" in place for _, place in frames)
    assert text.count('<figcaption><a href="') == len(frames)
    assert text.count('<p class="trace"><a href="') >= 5


@languages
def test_all_traces_are_listed_and_those_of_gaps_with_them(site: Any, language: str) -> None:
    listed = links(site.text(f"{language}/traces"))
    for scene in scenes_of(5):
        ways = [link for link in listed if link.startswith(f"../traces/{scene.name}.html#")]
        assert len(ways) >= 2, scene.name
    gaps = site.text(f"{language}/gaps")
    for gap in GAPS:
        assert re.search(rf"traces/[\w-]+\.html#scene=[\w-]+\+%2B\+{gap.name}&amp;", gaps), gap.name


@languages
def test_what_only_authors_need_is_not_shown(site: Any, language: str) -> None:
    for page in site.pages(language):
        assert not re.search(r"<!-- *([CK]\d|code:|trace:|embed:|output)", site.text(f"{language}/{page}")), (
            page
        )


@languages
def test_code_is_highlighted_and_answers_are_folded(site: Any, language: str) -> None:
    text = site.text(f"{language}/{WALKTHROUGH}")
    assert re.search(r'<div class="highlight-python.+?<span class="k">async</span>', text, re.DOTALL)
    folded = re.findall(r"<details>(.+?)</details>", text, re.DOTALL)
    source = (
        chapters_dir() / "05-http-service" / ("walkthrough.md" if language == "en" else "walkthrough.zh.md")
    )
    assert len(folded) == text.count("<summary>") == source.read_text("utf-8").count("<details>") > 4
    assert all(re.search(r"</summary>\s*<(p|div)\b", each) for each in folded)


def test_every_picture_is_there_for_light_and_dark(site: Any) -> None:
    for page in chapters_dir().glob("*/*.md"):
        language = "zh" if page.stem.endswith(".zh") else "en"
        name = page.stem.removesuffix(".zh").replace("README", "index")
        shown = site.text(f"{language}/{folder(page.parent)}/{name}")
        for kind in ("light", "dark"):
            figures = re.findall(rf'"figures/([^"]+\.{kind}\.svg)"', page.read_text("utf-8"))
            drawn = re.findall(rf'<img alt="[^"]*" class="only-{kind}" src="[^"]*/([^/"]+)"', shown)
            assert sorted(drawn) == sorted(figures), page
