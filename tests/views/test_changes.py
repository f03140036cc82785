from __future__ import annotations

from minisgl_tutor.views.changes import Change, changes


def test_only_entries_that_differ_by_component_and_uid() -> None:
    before = {"api": {1: {"ack_map": 0}, 2: {"ack_map": 1}}, "scheduler": {7: {"slot": 1}}}
    after = {
        "api": {1: {"ack_map": 2}, 2: {"ack_map": 1}},
        "scheduler": {},
        "detokenizer": {7: {"decode_map": 1}},
    }
    assert changes(before, after) == [
        Change("api", 1, {"ack_map": 0}, {"ack_map": 2}),
        Change("detokenizer", 7, {}, {"decode_map": 1}),
        Change("scheduler", 7, {"slot": 1}, {}),
    ]


def test_a_change_names_what_came_and_what_went() -> None:
    change = Change("api", 1, {"ack_map": 0, "event_map": 1}, {"ack_map": 2, "unanswered": 1})
    assert list(change.parts()) == [("ack_map", 0, 2), ("event_map", 1, None), ("unanswered", None, 1)]


def test_the_same_state_has_no_changes() -> None:
    held = {"api": {1: {"ack_map": 0}}}
    assert changes(held, held) == changes(held, {"api": {1: {"ack_map": 0}}}) == []
