"""The check of a built site finds each fault."""

from __future__ import annotations

from pathlib import Path

import pytest
from tutor_site.check import faults

TRACE = '<script type="application/json" id="data">{"scenes":[{"name":"one","total":3}]}</script>'


def site_of(folder: Path, body: str) -> Path:
    """A page with this in it, another one, a style sheet and a trace."""
    files = {"a/page.html": body, "b.html": '<p id="there">', "site.css": "", "traces/t.html": TRACE}
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


@pytest.mark.parametrize(
    "body",
    [
        '<a href="../b.html#there">',
        '<a id="中文" href="#%E4%B8%AD%E6%96%87">',
        '<a href="https://example.org/">',
        '<link rel="stylesheet" href="../site.css?v=1">',
        '<iframe data-src="../traces/t.html#scene=one&amp;step=3"></iframe>',
        '<img src="data:image/png;base64,AA">',
    ],
)
def test_what_is_right(tmp_path: Path, body: str) -> None:
    assert faults(site_of(tmp_path, body)) == []


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<a href="../c.html">', "a/page.html: ../c.html: there is no such file"),
        ('<a href="../b.html#gone">', "a/page.html: ../b.html#gone: there is no such place on the page"),
        ('<a href="#gone">', "a/page.html: #gone: there is no such place on the page"),
        ('<img src="x.svg">', "a/page.html: x.svg: there is no such file"),
        (
            '<a href="../traces/t.html#scene=two&amp;step=1">',
            "a/page.html: ../traces/t.html#scene=two&step=1: there is no such scene",
        ),
        (
            '<iframe data-src="../traces/t.html#scene=one&amp;step=4"></iframe>',
            "a/page.html: ../traces/t.html#scene=one&step=4: the scene has 3 steps",
        ),
        (
            '<script src="https://cdn.example/x.js"></script>',
            "a/page.html loads https://cdn.example/x.js from elsewhere",
        ),
        ('<link rel="icon" href="//cdn.example/x">', "a/page.html loads //cdn.example/x from elsewhere"),
        ('<img srcset="http://h/x.png 2x">', "a/page.html loads http://h/x.png from elsewhere"),
        ('<p style="background: url(http://h/x.png)">', "a/page.html loads http://h/x.png from elsewhere"),
        ("<style>@import 'http://h/x.css';</style>", "a/page.html loads http://h/x.css from elsewhere"),
    ],
)
def test_what_is_wrong(tmp_path: Path, body: str, fault: str) -> None:
    assert faults(site_of(tmp_path, body)) == [fault]


def test_a_style_sheet_that_loads_a_font(tmp_path: Path) -> None:
    site_of(tmp_path, "")
    (tmp_path / "site.css").write_text("@font-face { src: url('https://h/f.woff2'); }")
    assert faults(tmp_path) == ["site.css loads https://h/f.woff2 from elsewhere"]
