"""Every step of every scene in the panes of a screen, all of it said in text."""

from __future__ import annotations

import pytest

from minisgl_tutor.language import ENGLISH
from minisgl_tutor.resources import chapters_dir
from minisgl_tutor.trace.steps import Location, Step
from minisgl_tutor.views.cursor import Cursor
from minisgl_tutor.views.panes import code_pane, state_pane, step_pane, steps_pane
from minisgl_tutor.views.source import Sources


def step(**fields):
    return Step(
        **{
            "number": 1,
            "t_us": 0,
            "kind": "message",
            "source": "api",
            "target": "scheduler",
            "title": "UserMsg",
            "uids": [0],
            "content": [],
            "where": [],
        }
        | fields
    )


SCENES = sorted(f"{path.parts[-3]}/{path.stem}" for path in chapters_dir().glob("*/scenes/*.jsonl"))


@pytest.mark.parametrize("name", SCENES)
def test_every_step_of_every_scene(played, name):
    cursor, sources = Cursor(played(name).steps), Sources()
    while True:
        here = cursor.step
        lines = steps_pane(cursor, 6, ENGLISH).plain.splitlines()
        assert sum(line.startswith(">") for line in lines) == 1
        assert len(lines) == min(6, len(cursor.steps))
        moved = step_pane(here, cursor.uid, 76, ENGLISH).plain
        assert moved or here.kind == "client"
        code = code_pane(here, 0, 12, 40, sources, ENGLISH).plain.splitlines()
        assert len(code) <= 12
        assert not here.where or sum(line.startswith(f">{here.where[0].line:4}") for line in code) == 1
        assert state_pane(here, ENGLISH).plain.count("held after it") == 1
        if not cursor.move(1):
            return


def test_what_changed_says_how_much_there_was():
    before = {"api": {0: {"ack_map": 1, "event_map": 1}}, "scheduler": {3: {"slot": 1}}}
    after = {"api": {0: {"ack_map": 2, "event_map": 1}, 1: {"ack_map": 0}}, "scheduler": {}}
    assert state_pane(step(before=before, after=after), ENGLISH).plain.splitlines() == [
        "changed by this step",
        "~ api 0: ack_map 1 reply → 2 replies",
        "+ api 1: ack_map []",
        "- scheduler 3: slot 1",
        "held after it",
        "~ api 0: ack_map 2 replies, event_map set",
        "~ api 1: ack_map []",
        "  scheduler: nothing",
    ]


def test_a_batch_begins_with_the_one_that_is_followed():
    content = [{"type": "UserReply", "uid": uid} for uid in (3, 4, 5)]
    lines = step_pane(
        step(title="Batch", uids=[3, 4, 5], content=content, arrived_us=5), 4, 76, ENGLISH
    ).plain
    assert [line.split()[0] for line in lines.splitlines()] == ["uid=4", "uid=3", "uid=5"]


def test_a_message_that_nobody_took_in_says_so():
    assert "scheduler never takes it in" in step_pane(step(), 0, 76, ENGLISH).plain


def test_a_callers_code_and_none_at_all():
    where = [Location("links/memory.py", 10, "inner"), Location("links/base.py", 3, "outer")]
    assert "links/base.py:3  (caller 1)" in code_pane(step(where=where), 1, 8, 60, Sources(), ENGLISH).plain
    assert "links/memory.py:10" in code_pane(step(where=where), 2, 8, 60, Sources(), ENGLISH).plain
    assert "outside" in code_pane(step(kind="client"), 0, 8, 60, Sources(), ENGLISH).plain


def test_what_a_client_sent_commands_no_terminal():
    request = {"request": 0, "line": "POST /\x1b[2J", "body": "\x1b]0;title\x07"}
    hostile = step(kind="client", title="request", content=[request])
    text = steps_pane(Cursor([hostile]), 3, ENGLISH).plain + step_pane(hostile, 0, 76, ENGLISH).plain
    assert "\x1b" not in text and "\x07" not in text
