"""The page as a file. What it does in a browser is in ``test_page.py``."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from typing import Any, get_args

import pytest

from minisgl_tutor.gaps import GAPS
from minisgl_tutor.language import Sentence
from minisgl_tutor.trace.asgi import Kind
from minisgl_tutor.trace.steps import Held, Step
from minisgl_tutor.views import html
from minisgl_tutor.views.html import PAGE, page
from minisgl_tutor.views.shown import ShownScene

Maker = Callable[..., Step]
HOSTILE = "</script><script>alert(1)</script><!-- <b>\u2028\u202e{{script}}"


def data_of(made: bytes) -> dict[str, Any]:
    (data,) = re.findall(
        r'<script type="application/json" id="data">(.*?)</script>', made.decode(), re.DOTALL
    )
    found: dict[str, Any] = json.loads(data)
    return found


def scene(*steps: Step) -> ShownScene:
    return ShownScene("toy", Sentence("A toy"), (), steps)


def test_it_names_no_address_and_runs_one_script_alone(make_step: Maker) -> None:
    made = page([scene(make_step())]).decode()
    assert not re.findall(r'(?:src|href)="(?!data:)', made) and "http" not in made.replace("http-equiv", "")
    policy = re.findall(r'Content-Security-Policy" content="(.+?)"', made)[0]
    (script,) = re.findall(r"<script>(.*?)</script>", made, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy and policy.startswith("default-src 'none'")


def test_hostile_texts_stay_texts(make_step: Maker) -> None:
    note = Sentence("{said}", said=HOSTILE)
    step = make_step(title=HOSTILE, note=note, content=[{"type": HOSTILE, "uid": 0, HOSTILE: HOSTILE}])
    made = page([ShownScene(HOSTILE, Sentence(HOSTILE), (HOSTILE,), [step])])
    harmless = page([scene(make_step())])
    assert made.count(b"<script") == harmless.count(b"<script") and b"alert(1)</script" not in made
    (told,) = data_of(made)["scenes"]
    assert told["title"] == told["steps"][0]["note"] == {"en": HOSTILE, "zh": HOSTILE}
    assert told["steps"][0]["content"][0][HOSTILE] == HOSTILE


def test_what_is_too_long_is_cut_and_says_by_how_much(make_step: Maker) -> None:
    deep: Any = "bottom"
    for _ in range(1000):
        deep = [deep]
    content = {"text": "x" * 10_000, "ids": list(range(1000)), "deep": deep}
    (told,) = data_of(page([scene(make_step(content=[content]))]))["scenes"][0]["steps"][0]["content"]
    assert told["text"] == "x" * 4000 + "… (+6000)"
    assert told["ids"][399:] == [399, "… (+600)"]
    assert "bottom" not in json.dumps(told["deep"])


def test_states_are_told_as_differences(make_step: Maker) -> None:
    """Each step's ``came`` and ``changed``, applied one after the other, are its states."""
    one: Held = {"api": {1: {"ack_map": 1}}, "detokenizer": {}}
    two: Held = {"api": {1: {"ack_map": 2}}, "detokenizer": {5: {"decode_map": 1}}}
    steps = [make_step(1, before={"api": {}}, after=one), make_step(2, before=two, after={"api": {}})]
    first, second = data_of(page([scene(*steps)]))["scenes"][0]["steps"]
    assert (first["came"], first["changed"]) == ([], [["api", 1, {"ack_map": 1}]])
    assert second["came"] == [["api", 1, {"ack_map": 2}], ["detokenizer", 5, {"decode_map": 1}]]
    assert second["changed"] == [["api", 1, None], ["detokenizer", 5, None]]


def test_a_long_play_is_shown_in_part(make_step: Maker) -> None:
    steps = [make_step(number) for number in range(1, 301)]
    (told,) = data_of(page([scene(*steps)], most_steps=100))["scenes"]
    assert (len(told["steps"]), told["total"]) == (100, 300)
    opened = data_of(page([scene(*steps)], from_step=151, most_steps=100))
    assert [opened["scenes"][0]["steps"][place]["number"] for place in (0, -1)] == [101, 200]
    assert opened["open"] == 151


def test_every_string_is_there_in_both_languages_and_used() -> None:
    strings = json.loads((PAGE / "strings.json").read_text(encoding="utf-8"))
    assert all(set(texts) == {"en", "zh"} and all(texts.values()) for texts in strings.values())
    for texts in strings.values():
        english, chinese = (set(re.findall(r"\{\w+\}", texts[language])) for language in ("en", "zh"))
        assert english == chinese
    sources = "".join((PAGE / name).read_text(encoding="utf-8") for name in ("page.html", *html.SCRIPTS))
    in_page = re.findall(r'data-(?:text|label)="(\w+)"', sources)
    in_script = re.findall(r'\btext\("(\w+)"', sources) + re.findall(r'\["[^"]+", "(key\w+)"\]', sources)
    of_clients = set(get_args(Kind)) - {"status", "app returned"}  # these two are no steps
    assert {*in_page, *in_script, *of_clients} == set(strings)


def test_what_was_found_is_there_in_both_languages(make_step: Maker) -> None:
    content = [{"summary": gap.summary, "code": gap.code} for gap in GAPS]
    (told,) = data_of(page([scene(make_step(content=content))]))["scenes"][0]["steps"]
    for gap, known in zip(GAPS, told["content"], strict=True):
        assert known["summary"]["en"] == str(gap.summary) != known["summary"]["zh"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_have_contrast(scheme: str) -> None:
    """At least 4.5 to 1 on every background that they stand on (WCAG AA)."""
    css = (PAGE / "page.css").read_text(encoding="utf-8")
    found = re.findall(r"--([\w-]+): light-dark\(#(\w{6}), #(\w{6})\)", css)
    colours = {name: light if scheme == "light" else dark for name, light, dark in found}
    inks = ["ink", "dim", "alarm", *(name for name in colours if name.startswith("uid-"))]
    assert len(inks) == 9
    for ink in inks:
        for paper in ("paper", "raised", "chosen"):
            assert contrast(colours[ink], colours[paper]) >= 4.5, (ink, paper)
    for ink, paper in (
        ("alarm", "alarm-back"),
        ("ink", "changed-back"),
        ("ink", "alarm-back"),
        ("dim", "alarm-back"),
    ):
        assert contrast(colours[ink], colours[paper]) >= 4.5, (ink, paper)


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
