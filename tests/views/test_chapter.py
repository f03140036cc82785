"""A chapter's text on a terminal: nothing hidden is lost, nothing meant for a browser is seen."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len

from minisgl_tutor.language import ENGLISH
from minisgl_tutor.views.chapter import BREAK, breakable, plain, rendered, unfolded

CHINESE = (
    "调度器每一轮先在 `_schedule_next_batch` 里定下算谁，"
    "再在 `_forward` 里把这一步（prefill 或 decode）交给引擎。"
)


def shown(tmp_path: Path, text: str, width: int = 60, styled: bool = False) -> str:
    file = tmp_path / "README.md"
    file.write_text(text, "utf-8")
    return rendered(file, ENGLISH, width, styled)


def test_comments_and_links_within_the_chapters_are_left_out() -> None:
    text = "<!-- C2.30 -->\nThe [uid](README.md#uid) of [mini-sglang](https://example.org/x).<!-- C2.42 -->\n"
    assert plain(text, Path("x")) == "The uid of [mini-sglang](https://example.org/x).\n"


def test_an_image_is_named_by_its_file() -> None:
    assert (
        plain("![Two ways](figures/two.svg)", Path("chapters")) == "*Two ways* (`chapters/figures/two.svg`)"
    )


def test_a_picture_is_what_it_shows_its_file_and_the_same_in_letters(tmp_path: Path) -> None:
    picture = (
        '<picture><source media="(prefers-color-scheme: dark)" srcset="figures/two.en.dark.svg">'
        '<img src="figures/two.en.light.svg" alt="Two ways."></picture>'
    )
    drawing = "<details><summary>The same in letters</summary>\n\n```\na ──> b\n```\n</details>"
    text = shown(tmp_path, f"{picture}\n\n*Figure 5.1: ways*\n\n{drawing}\n\nOn.\n", width=300)
    assert [line.strip() for line in text.splitlines() if line.strip()] == [
        f"Two ways. ({tmp_path / 'figures/two.en.light.svg'})",
        "Figure 5.1: ways",
        "a ──> b",
        "On.",
    ]


def test_answers_come_at_the_end_by_their_numbers() -> None:
    fold = "Why?\n\n<details><summary>Answer</summary>\n\nBecause {}.\n\n</details>\n\n"
    text = unfolded(fold.format("a") + fold.format("b") + "On.\n", ENGLISH)
    assert text == (
        "Why?\n\n*Answer (number 1 at the end)*\n\nWhy?\n\n*Answer (number 2 at the end)*\n\nOn.\n\n"
        "## Answers\n\n**1.** Because a.\n\n**2.** Because b.\n"
    )
    assert unfolded("No question.\n", ENGLISH) == "No question.\n"


def test_code_stays_as_it_is(tmp_path: Path) -> None:
    code = "names = dict[str](key)  # <!-- 中文注释 -->"
    assert code in shown(tmp_path, f"Text.\n\n```python\n{code}\n```\n")


@pytest.mark.parametrize("width", [40, 41, 42, 43, 44, 45])
def test_chinese_lines_are_full_and_begin_with_no_comma(tmp_path: Path, width: int) -> None:
    lines = shown(tmp_path, CHINESE, width).splitlines()
    assert "".join(lines).replace(" ", "") == CHINESE.replace("`", "").replace(" ", "")
    assert not [line for line in lines if line[0] in "，。、）"]
    # A word of code is not broken; all other lines are filled but for a character and its mark.
    assert all(cell_len(line) >= width - 3 for line in lines[1:-1] if "_" not in line and "de" not in line)


def test_a_cell_of_chinese_is_not_cut(tmp_path: Path) -> None:
    cell = "调度器里面有引擎，" * 6
    text = shown(tmp_path, f"| process | what |\n|---|---|\n| a | {cell} |\n", 50)
    assert "…" not in text and text.count("引擎") == 6


def test_a_name_in_a_cell_is_broken_and_not_cut(tmp_path: Path) -> None:
    name = "managers/detokenizer_manager.py"
    text = shown(tmp_path, f"| a | b |\n|---|---|\n| {'word ' * 9} | `{name}` |\n", 40)
    assert name in text.replace("word", "").replace(" ", "").replace("\n", "")


def test_a_new_line_in_the_source_is_no_space_in_chinese(tmp_path: Path) -> None:
    assert shown(tmp_path, "先排队，\n再计算。\n") == "先排队，再计算。\n"
    assert shown(tmp_path, "First,\nthen.\n") == "First, then.\n"


def test_breaks_are_not_shown(tmp_path: Path) -> None:
    assert BREAK in breakable(CHINESE)
    assert BREAK not in shown(tmp_path, CHINESE)


def test_codes_only_for_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    assert "\x1b[" in shown(tmp_path, "# Title\n", styled=True)
    assert "\x1b[" not in shown(tmp_path, "# Title\n")
