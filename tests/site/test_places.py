"""Where a text speaks of a run."""

from __future__ import annotations

import pytest
from tutor_site.places import Place, places

from minisgl_tutor.gaps import resolve
from minisgl_tutor.trace.scenes import scene_of_gap, scenes_of

LEAVES = scenes_of(5, "client-leaves")[0].path
REFERENCE = resolve(["reference"])


@pytest.mark.parametrize(
    ("text", "gaps", "step", "excerpt"),
    [
        ("<!-- trace: chapter 5 scene client-leaves steps 21-25 -->\n```text\n#21\n```\n", (), 21, True),
        (
            "<!-- trace: chapter 5 scene client-leaves steps 3,5-6 gaps late-abort -->\n```text\n#3\n```\n",
            ("late-abort",),
            3,
            True,
        ),
        ("<!-- embed: chapter 5 scene client-leaves steps 7 -->\n", (), 7, True),
        (
            "```console\n$ minisgl-tutor trace --chapter 5 --scene client-leaves\n#1\n```\n",
            REFERENCE,
            1,
            False,
        ),
        (
            "```console\n$ minisgl-tutor trace --chapter 5 --scene client-leaves \\\n"
            "    --fixed --step --from-step 21\n#21\n```\n",
            (),
            21,
            False,
        ),
        ("```console\n$ minisgl-tutor trace --gap late-abort --no-pager\n```\n", ("late-abort",), 1, False),
    ],
)
def test_an_excerpt_and_a_command(text: str, gaps: tuple[str, ...], step: int, excerpt: bool) -> None:
    assert places(f"{text}\nMore.\n") == [Place(len(text), LEAVES, gaps, step, excerpt)]


def test_a_gap_has_its_own_scene() -> None:
    (place,) = places("```console\n$ minisgl-tutor trace --gap double-free\n```\n")
    assert place.recording == scene_of_gap("double-free")


@pytest.mark.parametrize(
    "command", ["trace --chapter 5", "trace --claim C5.16", "trace run.jsonl", "gaps", "read 5 --lang zh"]
)
def test_a_command_that_plays_several_or_none_is_no_place(command: str) -> None:
    assert places(f"```console\n$ minisgl-tutor {command}\n```\n") == []


def test_in_the_order_of_the_text() -> None:
    command = "```console\n$ minisgl-tutor trace --gap late-abort\n```\n"
    marker = "<!-- embed: chapter 5 scene client-leaves steps 7 -->\n"
    assert [place.excerpt for place in places(command + marker + command)] == [False, True, False]
