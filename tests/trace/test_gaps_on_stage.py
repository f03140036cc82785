"""Each gap alone shows its own lines and no other; all together show all; without gaps nothing is left."""

from __future__ import annotations

import pytest

from minisgl_tutor.gaps import REFERENCE, with_gaps
from minisgl_tutor.server.frontend import FrontendManager
from minisgl_tutor.trace.play import play


def normal_end(script):
    script.request(1_000, "hello")


def whole_answer(script):
    script.request(1_000, "hello", stream=False)


def leaves_mid_stream(script):
    rid = script.request(1_000, "a long answer " * 5, ends=False)
    script.leave(rid, 300_000)


def non_streaming_client_leaves(script):
    rid = script.request(1_000, "a long answer " * 3, stream=False)
    script.leave(rid, 100_000)


def over_long_prompt(script):
    script.request(1_000, "", content="x" * 300)


def slow_reader(script):
    rid = script.request(1_000, "one chunk a token " * 5)
    script.pace(rid, 400_000)


SCENES = {
    "normal": (normal_end, {"early-break"}),
    "whole": (whole_answer, {"early-break"}),
    "leaves": (leaves_mid_stream, {"late-abort", "forgotten-decode"}),
    # Once its leaving is noticed it is aborted like any other, so the gaps of an abort show as well.
    "non-streaming leaves": (
        non_streaming_client_leaves,
        {"blind-collect", "late-abort", "forgotten-decode"},
    ),
    # A request that is refused, or ended for its slow reader, has ended too.
    "over-long": (over_long_prompt, {"silent-drop", "early-break"}),
    "slow": (slow_reader, {"endless-backlog", "early-break", "forgotten-decode"}),
}
"""The scene, and the gaps that show in it when each is switched on alone."""


def found(result):
    return {finding.gap for finding in result.findings}


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("spec_version", ["2.3", "2.4"])
@pytest.mark.parametrize("overlap", [False, True])
def test_without_gaps_nothing_is_left_behind(script, byte_tokenizer, name, spec_version, overlap):
    script.overlap = overlap
    SCENES[name][0](script)
    result = play(script.recording(), byte_tokenizer, spec_version=spec_version)
    assert result.findings == []
    assert not any(result.held.values())


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("gap", REFERENCE)
def test_a_gap_alone_shows_in_the_scenes_that_it_concerns(script, byte_tokenizer, name, gap):
    make, concerned = SCENES[name]
    make(script)
    expected = {gap} & concerned
    assert found(play(script.recording(), byte_tokenizer, [gap])) == expected


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("taken_out", [None, *REFERENCE])
def test_all_gaps_together_and_all_but_one(script, byte_tokenizer, name, taken_out):
    """Taking a gap out takes its lines out. The others stay, and one that it hid may show instead."""
    make, alone = SCENES[name]
    make(script)
    everything = found(play(script.recording(), byte_tokenizer, ["reference"]))
    rest = found(play(script.recording(), byte_tokenizer, [gap for gap in REFERENCE if gap != taken_out]))
    assert taken_out not in rest
    assert rest | {"early-break"} >= everything - {taken_out}
    assert rest <= alone | {"early-break"}


def test_a_left_request_without_streaming_also_stays_in_the_maps(script, byte_tokenizer):
    """C5.160: nobody looked, and at its end nobody cleans."""
    non_streaming_client_leaves(script)
    result = play(script.recording(), byte_tokenizer, ["reference"])
    claims = {claim for finding in result.findings for claim in finding.claims}
    assert {"C5.159", "C5.160"} <= claims


def test_replies_until_the_late_abort_are_filed_for_nobody(script, byte_tokenizer):
    """C5.134, C5.156: the client leaves at 0.3 s, the abort at 0.4 s; about ten tokens come in between."""
    leaves_mid_stream(script)
    result = play(script.recording(), byte_tokenizer, ["late-abort"])
    (finding,) = [f for f in result.findings if f.gap == "late-abort"]
    abort = next(step for step in result.steps if step.title == "AbortMsg")
    assert abort.t_us == 400_000
    assert "100 ms" in str(finding.note) and "10 replies" in str(finding.note)


def test_one_token_is_said_as_one(script, byte_tokenizer):
    rid = script.request(1000, "abcd", stream=False, ends=False, limit=4)
    script.leave(rid, at=35_000)
    (finding,) = play(script.recording(), byte_tokenizer, ["blind-collect"]).findings
    assert str(finding.note) == "the client left, no abort was sent, and one token was made for nobody"


def test_two_plays_are_the_same(script, byte_tokenizer):
    leaves_mid_stream(script)
    script.request(5_000, "另一个 answer")
    recording = script.recording()
    plays = [play(recording, byte_tokenizer, ["reference"]).steps for _ in range(2)]
    assert plays[0] == plays[1]


def test_a_class_that_no_gap_concerns_is_itself():
    assert with_gaps(FrontendManager, ["silent-drop"]) is FrontendManager
