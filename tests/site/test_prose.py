"""Changes of Markdown for the site."""

from __future__ import annotations

from tutor_site.prose import (
    outside_code,
    unfolded_lines,
    with_exercises,
    with_links,
    with_long_names,
    with_pictures,
    without_comments,
)

PICTURE = (
    '<picture><source media="(prefers-color-scheme: dark)" srcset="figures/way.en.dark.svg">'
    '<img src="figures/way.en.light.svg" alt="the way [of a cancel]"></picture>'
)


def test_a_picture_becomes_two_of_which_the_theme_shows_one() -> None:
    assert with_pictures(f"Before.\n\n{PICTURE}\n") == (
        "Before.\n\n"
        r"![the way \[of a cancel\]](figures/way.en.light.svg){.only-light} "
        r"![the way \[of a cancel\]](figures/way.en.dark.svg){.only-dark}"
        "\n"
    )


def test_a_picture_may_be_written_on_several_lines() -> None:
    several = PICTURE.replace("><", ">\n  <")
    assert with_pictures(several) == with_pictures(PICTURE)


def test_comments_and_the_link_to_the_other_language_go() -> None:
    text = (
        "# Title\n\n**[中文](x.zh.md)** · [Chapter](README.md)\n\n<!-- C5.1 -->\nText <!-- a\nb -->goes on.\n"
    )
    assert without_comments(text) == "# Title\n\n[Chapter](README.md)\n\nText goes on.\n"


def test_code_stays_as_it_is() -> None:
    text = "<!-- C5.1 -->\n```\n<!-- stays -->\n```\n- item\n\n  ```sh\n  <!-- stays -->\n  ```\n"
    assert outside_code(text, without_comments) == text.removeprefix("<!-- C5.1 -->\n")


def test_lines_of_chinese_join_without_a_space() -> None:
    assert unfolded_lines("请求到了，\n调度器\n让它等。\n`uid` 是\nint\n\n下一段") == (
        "请求到了，调度器让它等。\n`uid` 是\nint\n\n下一段"
    )


def test_long_code_in_a_table_may_be_broken() -> None:
    long = "`tests/server/test_x.py::test_what_is_told`"
    row = "| `short` | and some words that are not code | <a>{}</a>, `` ` ``, {} |\n"
    text = f"{long}\n\n| a | b | c |\n|---|---|---|\n"
    marked = f"{long}{{.long}}"
    assert with_long_names(text + row.format(long, long)) == text + row.format(marked, marked)


def test_a_cell_that_names_an_exercise_is_code() -> None:
    assert with_exercises("| gap | exercise-7b |\n\nIn exercise-7 | x |\n") == (
        "| gap | `exercise-7b` |\n\nIn exercise-7 | x |\n"
    )


def test_links_and_code_are_told_apart() -> None:
    text = "[a `b` c](to.md#x), `[no](link.md)`, ![image](i.svg), ``x ` y``, `gap`"
    seen: list[tuple[str, ...]] = []

    def link(text: str, target: str) -> str:
        seen.append((text, target))
        return f"<{target}>"

    def code(content: str) -> str | None:
        seen.append((content,))
        return "[gap]" if content == "gap" else None

    assert with_links(text, link, code) == "<to.md#x>, `[no](link.md)`, ![image](i.svg), ``x ` y``, [gap]"
    assert seen == [("a `b` c", "to.md#x"), ("[no](link.md)",), ("x ` y",), ("gap",)]


def test_that_a_link_leads_to_another_language_is_left_to_the_site() -> None:
    text = "见 [docs/a.md](docs/a.md)（英文）；[b](b.md)（英文说明）"
    shown = with_links(text, lambda text, target: f"<{target}>", lambda code: None)
    assert shown == "见 <docs/a.md>；<b.md>（英文说明）"
