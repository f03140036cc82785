"""The screen, by its keys and its text."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from minisgl_tutor.language import Tongue
from minisgl_tutor.recording import Recording
from minisgl_tutor.stepper.app import StepApp
from minisgl_tutor.trace.scenes import title_of
from minisgl_tutor.trace.steps import encoded
from minisgl_tutor.views.source import Sources
from tests.language.english import english_left

FIRST_SCREEN = """\
step 1 of 88 | scene 1 of 2 | 6 gaps on | A stream that ends normally
────────────────────────────────────────────────────────────────────────────────
> #1     0.001000 s  client → api  request 0 POST /v1/chat/completions
  #2     0.001000 s  api → tokenizer-0  TokenizeMsg  uid=0
  #3     0.001020 s  tokenizer-0 → scheduler  UserMsg  uid=0
  #4     0.005343 s  scheduler → engine  forward_batch  uid=0
────────────────────────────────────────────────────────────────────────────────
{"model": "minisgl-tutor", "messages": [{"role": "user", "content":
"Goodbye"}], "max_tokens": 64, "stream": true}

────────────────────────────────────────────────────────────────────────────────
This came from outside of the server.           │changed by this step
                                                │  nothing
                                                │held after it
                                                │  api: nothing
                                                │  detokenizer: nothing
                                                │  scheduler: nothing
                                                │  tokenizer-0: nothing
                                                │
                                                │
                                                │

← → step  g number  u U this uid  x X gap  t type  n N again  Tab uid  c caller
f fork  z unfork  [ ] scene  PgUp PgDn held state  ? help  q quit"""


def text_of(app: StepApp) -> str:
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


@pytest.fixture
def keys(app):
    """Presses keys on a screen of 80 x 24 and gives its text."""

    async def press(*pressed, size=(80, 24)):
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            for key in pressed:
                await pilot.press(key)
                await app.workers.wait_for_complete()
                await pilot.pause()
            return text_of(app)

    return press


async def test_the_first_screen(keys):
    assert await keys() == FIRST_SCREEN


WALK = [
    ("right space l", 4),
    ("left", 3),
    ("end", 88),
    ("right", 88),
    ("U", 87),
    ("home", 1),
    ("g 1 2 enter", 12),
    ("g 9 9 9 enter", 88),
    ("g escape", 88),
    ("g enter", 88),
    ("X", 88),
    ("home x", 88),
    ("home n down down enter", 3),
    ("u", 4),
    ("t down down down enter", 5),
    ("N n", 5),
    ("tab", 5),
]
"""Keys, pressed on and on, and the number of the step to which they lead."""


async def test_ways_on(app):
    async with app.run_test(size=(80, 24)) as pilot:
        for pressed, number in WALK:
            await pilot.press(*pressed.split())
            await pilot.pause()
            assert (pressed, app.take.cursor.step.number) == (pressed, number)
            assert f"step {number} of 88" in text_of(app)


async def test_the_line_of_code_is_marked(keys, app):
    text = await keys("right", "right", "right", "right", "right")
    here = app.take.cursor.step.where[0]
    assert f"{here.file}:{here.line}" in text
    assert any(line.startswith(f"> {here.line:3} ") for line in text.splitlines())


async def test_so_is_that_of_its_caller(keys, app):
    text = await keys("g", "6", "enter", "c")
    caller = app.take.cursor.step.where[1]
    assert f"{caller.file}:{caller.line}  (caller 1)" in text


async def test_what_a_step_changed_is_marked(keys):
    text = await keys("g", "6", "enter")
    assert "+ detokenizer 0: decode_map 1" in text
    assert "~ detokenizer 0: decode_map 1" in text.partition("held after it")[2]


async def test_a_gap_says_what_was_found_and_shows_its_code(keys):
    text = await keys("x")
    assert "GAP early-break  C5.158" in text
    assert "gaps/early_break.py:1" in text
    assert ">!#88" in text


async def test_a_fork_is_saved_and_shown_from_its_step_and_plays_the_same_again(keys, app, saved, perform):
    text = await keys("g", "3", "0", "enter", "f", "enter")
    assert ">Y#31" in text and "FORK disconnect" in text and "| fork 1 |" in text
    assert "Saved; z: back.  minisgl-tutor trace normal-end-fork-1.jsonl" in text
    (recording,) = saved.values()
    assert recording.header.title == "A stream that ends normally | step 30: disconnect"
    assert encoded(app.take.play.steps) == encoded(in_thread(perform, recording).steps)


def in_thread(perform, recording):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(perform, recording).result()


async def test_a_fork_of_a_fork_and_back(keys, saved):
    text = await keys("g", "3", "0", "enter", "f", "enter", "left", "left", "f", "enter", "z", "z", "z")
    assert "step 30 of 88" in text and "This is no fork." in text
    assert len(saved) == 2


async def test_a_gap_is_switched_off_for_the_whole_run(keys, app, saved):
    text = await keys("f", "up", "enter", "enter")
    assert "gaps on" in text
    assert app.take.play.gaps == tuple(app._scenes[0].recording.header.gaps[1:])
    assert saved["normal-end-fork-1.jsonl"].header.gaps == list(app.take.play.gaps)


async def test_a_fork_that_cannot_be_saved_is_shown_all_the_same(keys, saved):
    saved.full = True
    text = await keys("g", "3", "0", "enter", "f", "enter")
    assert "FORK disconnect" in text and "Not saved (No space left on device)" in text


async def test_a_play_that_fails_leaves_the_reader_where_they_are(keys, app):
    def fail(recording):
        raise RuntimeError("broken")

    app._replay = fail
    text = await keys("g", "3", "0", "enter", "f", "enter")
    assert "step 30 of 88" in text and "A component fails that way: RuntimeError: broken" in text


async def test_other_scenes(keys):
    text = await keys("right_square_bracket", "x", "left_square_bracket", "left_square_bracket")
    assert "scene 1 of 2" in text and "no other scene" in text


async def test_help(keys):
    text = await keys("question_mark")
    assert "let the run go on otherwise" in text


async def test_help_goes_away(keys):
    assert await keys("question_mark", "escape") == FIRST_SCREEN


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_every_size_shows_where_one_is_and_the_keys(keys, size):
    text = await keys("right", size=size)
    assert "step 2 of 88" in text and "> #2" in text and "changed by" in text
    assert "f fork" in text


async def test_nothing_but_text_tells_the_marks(keys, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    text = await keys("x")
    assert ">!#88" in text and "GAP early-break" in text


CHINESE = [
    "home",
    "x",
    "question_mark",
    "escape",
    "g",
    "escape",
    "t",
    "escape",
    "f",
    "enter",
    "z",
    "z",
    "N",
    "escape",
    "X",
]
CODE = re.compile(r"^[ >]\s*\d* .*?│", re.MULTILINE)


async def test_in_chinese_no_screen_has_an_english_sentence(scene, perform, saved):
    shown, first = scene("normal-end")
    app = StepApp([shown], first, perform, saved.save, Sources(), "minisgl-tutor trace", Tongue("zh"))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        for key in CHINESE:
            await pilot.press(key)
            await app.workers.wait_for_complete()
            await pilot.pause()
            assert english_left(CODE.sub("", text_of(app))) == [], key
        assert "审计再没有发现什么" in text_of(app)


def test_the_title_of_a_fork_begins_with_its_scenes_in_every_language(scene):
    recording = scene("normal-end")[0].recording
    header = msgspec.structs.replace(recording.header, title=f"{recording.header.title} | step 3: drop")
    title = title_of(Recording(header, []), Path("x"))
    assert Tongue("zh")(title) == "一个正常结束的流 | step 3: drop" and str(title) == header.title


async def test_a_long_line_of_code_is_shown_whole(keys, app):
    text = await keys("g", "6", "enter")
    code = "".join(line[6:48] for line in text.splitlines() if line.startswith(">") and "#" not in line)
    assert "BatchTokenizerMsg(list(reply))" in "".join(code.split())


async def test_an_empty_list_is_said_to_be_one(keys):
    assert "api 0: ack_map [], event_map" in await keys("g", "6", "enter")
