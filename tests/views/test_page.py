"""The page in a browser: every scene, its keys, its languages, and what is meant to break it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from chromium import size

from minisgl_tutor.language import Sentence
from minisgl_tutor.trace.steps import Location, Step
from minisgl_tutor.views.shown import ShownScene
from tests.language.english import english_left

Maker = Callable[..., Step]
Shown = Callable[[str], ShownScene]
Look = Callable[..., Any]

LEAVES = "05-http-service/03-client-leaves"
TWO = "05-http-service/02-interleaved"
HOSTILE = "</script><img src=x onerror=alert(1)>\u202e\u0007<!--"


def test_a_chapter_is_one_page_with_a_chooser(look: Look, shown: Shown) -> None:
    looked = look(shown(TWO), shown(LEAVES))
    assert looked.number == 1
    looked.click('#scene option[value="1"]')
    assert looked.text("#title") == "A client leaves in mid-stream"
    looked.click("#rows")
    looked.press("S")
    assert looked.text("#title") == "Two streams share one return channel"


def test_keys_go_through_the_steps(look: Look, shown: Shown) -> None:
    looked = look(shown(TWO))
    steps = list(shown(TWO).steps)
    for key, number in [
        ("ArrowRight", 2),
        ("ArrowDown", 3),
        ("PageDown", 13),
        ("PageUp", 3),
        ("ArrowLeft", 2),
        ("End", len(steps)),
        ("ArrowRight", len(steps)),
        ("Home", 1),
        ("ArrowUp", 1),
    ]:
        looked.press(key)
        assert looked.number == number, key


def test_jumps_to_the_next_hop_of_a_request_a_gap_and_a_type(look: Look, shown: Shown) -> None:
    steps = list(shown(TWO).steps)
    looked = look(shown(TWO), place=f"scene={TWO}&step=2")
    uid = steps[1].uids[0]
    hops = [step.number for step in steps if uid in step.uids]
    looked.press("n", "n")
    assert looked.number == hops[2]
    looked.press("N")
    assert looked.number == hops[1]
    looked.press("Home", "m")
    assert looked.number == [step.number for step in steps if step.title == "request"][1]
    looked.press("g")
    gaps = [step.number for step in steps if step.kind == "gap"]
    assert looked.number == gaps[0]
    looked.click('[data-go="gap"]')
    assert looked.number == gaps[1]
    assert not looked.find('[data-go="gap"]')[0].is_enabled()


def test_what_is_held_is_that_of_the_step(look: Look, shown: Shown) -> None:
    """At every step the cards say what the step's ``after`` says, whichever way one comes to it."""
    steps = list(shown(TWO).steps)
    looked = look(shown(TWO))
    read = "return Array.from(cursor.held().after, ([name, entries]) => [name, Array.from(entries)])"
    for place in [*range(len(steps)), *range(len(steps) - 1, -1, -7)]:
        looked.evaluate(f"goTo({place})")
        held = {name: {uid: kept for uid, kept in entries} for name, entries in looked.evaluate(read)}
        assert held == steps[place].after
    number = next(step.number for step in steps if "scheduler" in step.changed())
    looked.evaluate(f"goTo({number - 1})")
    card = looked.text(".holder.changed")
    assert "● running none → 1" in card


def test_the_line_of_code_is_marked(look: Look, shown: Shown) -> None:
    looked = look(shown(LEAVES), place="step=2")
    assert "self.send_tokenizer" in looked.text(".place .here") or "put" in looked.text(".place .here")
    assert "FrontendManager.send_one" in looked.text(".place summary")


def test_a_gap_is_marked_on_the_time_line_and_said(look: Look, shown: Shown) -> None:
    looked = look(shown(LEAVES))
    gaps = [step for step in shown(LEAVES).steps if step.kind == "gap"]
    assert len(looked.find("#marks i")) == len(looked.find("#findings button")) == len(gaps)
    looked.click("#findings button", -1)
    assert looked.number == gaps[-1].number
    assert str(gaps[-1].note) in looked.text("#finding")
    looked.click("#language")
    assert "中止从不传到解码进程" in looked.text("#finding")


def test_the_slider_and_a_click_on_a_row(look: Look, shown: Shown) -> None:
    looked = look(shown(LEAVES))
    looked.evaluate("slider.value = 20; slider.dispatchEvent(new Event('input'))")
    assert looked.number == 20
    assert "#20" in looked.find("#slider")[0].get_attribute("aria-valuetext")
    looked.click("#row-21")
    assert looked.number == 22
    assert looked.find("#row-21")[0].get_attribute("aria-selected") == "true"


@pytest.mark.parametrize(("dark", "width"), [(False, 1280), (True, 1200), (True, 360)])
def test_languages_schemes_and_a_phone(look: Look, shown: Shown, dark: bool, width: int) -> None:
    looked = look(shown(LEAVES), width=width, dark=dark, language="zh")
    assert looked.evaluate("return document.documentElement.lang") == "zh-CN"
    assert looked.text("#chart-title") == "进程之间的消息"
    looked.click("#language")
    assert looked.text("#chart-title") == "Messages between the processes"
    paper = "return getComputedStyle(document.body).backgroundColor"
    before = looked.evaluate(paper)
    assert (before == "rgb(255, 255, 255)") == (not dark)
    looked.click("#theme")
    assert looked.evaluate(paper) != before
    assert looked.evaluate("return document.documentElement.scrollWidth") == width
    assert looked.evaluate("return rows.scrollWidth - rows.clientWidth") == 0
    for part in ("#rows", ".detail", "#slider", '[data-go="gap"]', "#help"):
        box = looked.find(part)[0].rect
        assert box["x"] >= 0 and box["x"] + box["width"] <= width, part


def test_the_names_of_seven_processes_do_not_lie_over_each_other(look: Look, make_step: Maker) -> None:
    lanes = ("client", "api", "tokenizer-0", "tokenizer-1", "scheduler", "engine", "detokenizer")
    steps = [
        make_step(at, source=one, target=two) for at, (one, two) in enumerate(itertools.pairwise(lanes), 1)
    ]
    looked = look(ShownScene("seven", Sentence("seven"), (), steps), width=1100)
    names = [name.rect for name in looked.find("#lanes span")]
    assert len(names) == 7
    for one, other in itertools.combinations(names, 2):
        apart = [abs(one[axis] - other[axis]) for axis in "xy"]
        left = min(one, other, key=lambda name: name["x"])
        assert apart[0] >= left["width"] or apart[1] >= 0.7 * one["height"], (one, other)
    chart = looked.find("#lanes")[0].rect
    assert all(name["x"] + name["width"] <= chart["x"] + chart["width"] for name in names)


def test_a_narrower_window_still_shows_the_present_step(look: Look, shown: Shown) -> None:
    looked = look(shown(LEAVES), place="step=30")
    size(looked.driver, 360)
    looked.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    row, chart = looked.find("#row-29")[0].rect, looked.find("#rows")[0].rect
    assert chart["y"] <= row["y"] and row["y"] + row["height"] <= chart["y"] + chart["height"]


def test_in_chinese_nothing_english_is_said_of_the_findings(look: Look, shown: Shown) -> None:
    looked = look(shown(LEAVES), language="zh")
    assert looked.text("#title") == "流式客户端中途离开"
    for place in range(len(looked.find("#findings button"))):
        looked.click("#findings button", place)
        said = "\n".join(looked.text(part) for part in ("header", "#when", "#finding", "#findings", "#held"))
        assert english_left(said) == []


def test_everything_that_can_be_used_has_a_name_and_can_be_reached(look: Look, shown: Shown) -> None:
    looked = look(shown(LEAVES))
    usable = [each for each in looked.find("button, select, input, [role=listbox]") if each.is_displayed()]
    assert [each.get_attribute("outerHTML") for each in usable if not each.accessible_name] == []
    reached = set()
    for _ in range(20):
        looked.press("Tab")
        reached.add(
            looked.evaluate("return document.activeElement.id || document.activeElement.dataset.go || ''")
        )
    assert {"scene", "language", "theme", "help", "forward", "slider", "rows"} <= reached
    assert looked.find("#rows")[0].get_attribute("aria-activedescendant") == "row-0"
    looked.press("?")
    assert looked.find("#keys")[0].is_displayed()
    looked.press("Escape")
    assert not looked.find("#keys")[0].is_displayed()


def test_hostile_texts_do_nothing(look: Look, make_step: Maker) -> None:
    content: dict[str, Any] = {"type": HOSTILE, "uid": 0, HOSTILE: HOSTILE, "list": [HOSTILE, {"a": HOSTILE}]}
    note = Sentence(HOSTILE)
    steps = [
        make_step(1, title=HOSTILE, note=note, content=[content], where=[Location(HOSTILE, 1, HOSTILE)]),
        make_step(2, kind="gap", target="", gap=HOSTILE, note=note, content=[], claims=[HOSTILE]),
        make_step(3, content=[{"type": "x", "uid": 0, "text": "w" * 4000}], uids=[0]),
    ]
    looked = look(ShownScene(HOSTILE, note, (HOSTILE,), steps))
    for _ in steps:
        assert looked.find("img") == []
        assert "\u202e" not in looked.text("body")
        assert looked.evaluate("return document.documentElement.scrollWidth") == 1280
        looked.press("ArrowRight")


def test_ten_thousand_steps_draw_no_more_than_is_seen(look: Look, make_step: Maker) -> None:
    held = {"detokenizer": {uid: {"decode_map": 1} for uid in range(2000)}}
    steps = [make_step(number, before=held, after=held) for number in range(1, 10_001)]
    steps[6000] = make_step(6001, kind="gap", target="", content=[], before=held, after=held)
    looked = look(ShownScene("long", Sentence("Long"), (), steps))
    looked.press("g")
    assert looked.number == 6001
    looked.press("End")
    assert looked.number == 10_000
    assert looked.find("#row-9999")[0].is_displayed()
    assert len(looked.find(".row")) < 80
    assert len(looked.find(".holder tr")) == 40
    scrolled = (
        "rows.scrollTop = 0; rows.addEventListener('scroll', () => requestAnimationFrame(arguments[0]))"
    )
    looked.driver.execute_async_script(scrolled)
    assert looked.find("#row-0")


def test_a_recording_in_which_nothing_happened(look: Look, shown: Shown) -> None:
    looked = look(ShownScene("empty", Sentence("Empty"), (), []), shown(LEAVES))
    assert "Nothing happened" in looked.text("#subtitle")
    looked.press("ArrowRight", "g", "End")
    looked.click("#theme")
    looked.click("#language")
    looked.press("s")
    assert looked.number == 1
