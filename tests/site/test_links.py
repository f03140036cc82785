"""Where the links of a Markdown file lead on the site."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest
from tutor_site.links import DeadLink, Links
from tutor_site.pages import Page, Pages, page_of

FILES = {
    "README.md": "# Home\n",
    "README.zh.md": "# 首页\n",
    "LICENSE": "free\n",
    "docs/operations.md": "# Operations\n",
    "chapters/05-x/README.md": "# Five\n",
    "chapters/05-x/README.zh.md": "# 五\n",
    "chapters/05-x/scenes/a.jsonl": "{}\n",
    "chapters/05-x/exercises/exercise-1/README.md": "# One\n",
    "chapters/05-x/exercises/exercise-1/starter.py": "pass\n",
}


@pytest.fixture
def links(tmp_path: Path) -> Links:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    return Links(Pages(tmp_path), {"chapters/05-x/scenes": "traces"})


def page(name: str) -> Page:
    return page_of(PurePosixPath(name))


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("README.md", "https://example.org/x", "[t](https://example.org/x)"),
        ("README.md", "#here", "[t](#here)"),
        ("README.md", "chapters/05-x/README.md", "[t](chapters/05-x/index.md)"),
        ("chapters/05-x/README.md", "../../README.md#start", "[t](../../index.md#start)"),
        ("chapters/05-x/README.md", "exercises/exercise-1/README.md", "[t](exercises/exercise-1/index.md)"),
        ("README.zh.md", "chapters/05-x/README.zh.md", "[t](chapters/05-x/index.md)"),
        (
            "chapters/05-x/README.zh.md",
            "../../docs/operations.md#a",
            '<a href="../../../en/docs/operations.html#a" hreflang="en">t</a>',
        ),
        ("chapters/05-x/README.md", "scenes", "[t](../../traces.md)"),
        ("chapters/05-x/README.md", "exercises", "t"),
        ("README.md", "LICENSE", '<a href="../files/LICENSE.txt">t</a>'),
    ],
)
def test_a_link_leads_to_a_page_a_copy_or_nowhere(
    links: Links, source: str, target: str, expected: str
) -> None:
    assert links.link(page(source), "t", target) == expected


def test_files_that_are_linked_are_copied(links: Links) -> None:
    links.link(page("chapters/05-x/README.md"), "t", "exercises/exercise-1/starter.py")
    assert links.copied == {PurePosixPath("chapters/05-x/exercises/exercise-1/starter.py")}


def test_a_dead_link_is_named(links: Links) -> None:
    with pytest.raises(DeadLink, match=r"README\.md: \[t\]\(gone\.md\) leads to nothing"):
        links.link(page("README.md"), "t", "gone.md")
