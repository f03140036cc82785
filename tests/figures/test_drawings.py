"""All figures: the files are today's, everybody can read them, and the chapters show each."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import pytest
from figures.paper import PALETTES, Paper

from minisgl_tutor.resources import chapters_dir

FILES = sorted(chapters_dir().glob("*/figures/*"))
PICTURE = re.compile(
    r'^<picture><source media="\(prefers-color-scheme: dark\)" srcset="figures/(.+)\.(en|zh)\.dark\.svg">'
    r'<img src="figures/(.+)\.(en|zh)\.light\.svg" alt="([^"]+)"></picture>\n\n\*.+\*\n',
    re.MULTILINE,
)
SVG = "{http://www.w3.org/2000/svg}"
LEAST_SIZE, SHOWN_WIDTH = 11, 700
TEXTS_ON_GROUNDS = list(product(("ink", "muted", "data", "event", "first", "second"), ("ground", "surface")))

each_file = pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)


def test_the_files_are_those_that_are_drawn(drawn: dict[Path, str]) -> None:
    assert sorted(drawn) == FILES
    stale = [file.name for file, drawing in drawn.items() if file.read_text("utf-8") != drawing]
    assert not stale, "run scripts/draw_figures.py"


@each_file
def test_a_reader_of_screens_hears_what_is_to_be_seen(file: Path) -> None:
    root = ElementTree.parse(file).getroot()
    language = file.name.split(".")[1]
    assert root.get("role") == "img" and root.get("lang", "").startswith(language)
    for part in ("title", "desc"):
        words = root.findtext(SVG + part)
        assert words and "{" not in words


@each_file
def test_no_text_is_too_small_and_nothing_comes_from_elsewhere(file: Path) -> None:
    root = ElementTree.parse(file).getroot()
    sizes = [float(text.get("font-size", 0)) for text in root.iter(f"{SVG}text")]
    assert min(sizes) * SHOWN_WIDTH / float(root.get("width", 0)) >= LEAST_SIZE
    assert "href" not in file.read_text("utf-8").replace("xlink=", "")
    assert "url(" not in file.read_text("utf-8")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_figure_is_shown_once_and_in_the_language_of_the_text(
    drawn: dict[Path, str], language: str
) -> None:
    shown = []
    for page in chapters_dir().glob("[0-9][0-9]-*/*.md"):
        if page.name.endswith(".zh.md") != (language == "zh"):
            continue
        text = page.read_text("utf-8")
        found = PICTURE.findall(text)
        assert len(found) == text.count("<picture>"), f"{page.name}: not in the form of the others"
        for dark, dark_language, light, light_language, _ in found:
            assert dark == light and dark_language == light_language == language, page
            shown.append(page.parent / "figures" / f"{light}.{language}.light.svg")
    wanted = [file for file in drawn if file.name.endswith(f".{language}.light.svg")]
    assert sorted(shown) == sorted(wanted)


def test_every_text_stands_out_from_what_it_stands_on() -> None:
    """By the measure of WCAG 2: at least 4.5 to 1."""
    for scheme, palette in PALETTES.items():
        for text, ground in TEXTS_ON_GROUNDS:
            contrast = contrast_of(getattr(palette, text), getattr(palette, ground))
            assert contrast >= 4.5, (scheme, text, ground, contrast)


def contrast_of(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_black_on_white_is_the_most() -> None:
    assert contrast_of("#000000", "#ffffff") == pytest.approx(21)


def test_an_arrow_touches_its_target() -> None:
    paper = Paper(100, "en", PALETTES["light"], "title", "description")
    paper.arrow([(10, 10), (10, 50)])
    head = ElementTree.fromstring(paper.svg().encode()).findall(f"{SVG}path")[-1]
    assert head.get("d", "").startswith("M10,50 ")
