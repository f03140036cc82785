"""A fork is the recording up to its step, and then goes on otherwise; saved and read it plays the same."""

from __future__ import annotations

from functools import partial

import pytest

from minisgl_tutor.recording import read_recording
from minisgl_tutor.resources import model_dir
from minisgl_tutor.tokenizer.load import load_tokenizer
from minisgl_tutor.trace.fork import CannotFork, first_difference, forked, under_gaps
from minisgl_tutor.trace.interventions import sort_of
from minisgl_tutor.trace.play import play
from minisgl_tutor.trace.scenes import scene_of_gap, scenes_of
from minisgl_tutor.trace.steps import encoded

ON_REQUESTS = ("disconnect", "slow", "abort")
ON_MESSAGES = ("drop", "delay", "reorder")


@pytest.fixture
def perform(byte_tokenizer):
    return lambda recording: play(recording, byte_tokenizer, recording.header.gaps)


@pytest.fixture
def chat(script):
    """A streamed answer, and later one as a whole."""
    script.request(1_000, "hello you")
    script.request(500_000, "another", stream=False)
    return script.recording()


def number_of(steps, title, uid=0, nth=1):
    found = [step.number for step in steps if step.title == title and step.uids[:1] == [uid]]
    return found[nth - 1]


def moves(steps):
    return [(step.kind, sort_of(step), step.t_us, step.content) for step in steps]


def bytes_of(steps):
    return b"\n".join(map(encoded, steps))


@pytest.mark.parametrize("gaps", [[], ["reference"]])
@pytest.mark.parametrize("action", [*ON_REQUESTS, *ON_MESSAGES])
def test_every_step_up_to_the_fork_is_the_same_and_what_is_saved_plays_the_same(
    chat, perform, tmp_path, action, gaps
):
    recording = under_gaps(chat, gaps)
    before = perform(recording)
    number = number_of(before.steps, "UserReply", nth=2)
    fork = forked(recording, before.steps, number, action, rid=0, us=50_000)
    after = perform(fork)
    assert moves(after.steps[:number]) == moves(before.steps[:number])
    assert (after.steps[number].kind, after.steps[number].title) == ("fork", action)
    assert moves(after.steps[number + 1 :]) != moves(before.steps[number:])
    fork.write(tmp_path / "fork.jsonl")
    saved = read_recording(tmp_path / "fork.jsonl")
    assert bytes_of(perform(saved).steps) == bytes_of(after.steps)


@pytest.mark.parametrize("action", [*ON_REQUESTS, "delay"])
def test_right_classes_clean_up_after_what_may_happen_to_them(chat, perform, action):
    steps = perform(chat).steps
    for number in range(1, len(steps) + 1, 7):
        if action in ON_REQUESTS or steps[number - 1].kind == "message":
            result = perform(forked(chat, steps, number, action, rid=0, us=20_000))
            assert result.findings == []
            assert not any(result.held.values())


def continued(chat, perform, title, action, nth=1, **options):
    """The steps behind the fork at the ``nth`` step of that title for the first request."""
    steps = perform(chat).steps
    number = number_of(steps, title, nth=nth)
    return perform(forked(chat, steps, number, action, **options)), number


def test_a_client_that_leaves_now_is_aborted(chat, perform):
    result, number = continued(chat, perform, "UserReply", "disconnect", rid=0, nth=3)
    titles = [step.title for step in result.steps[number:] if step.uids[:1] == [0]]
    assert titles[:2] == ["disconnect", "left"]
    assert "AbortMsg" in titles and "completed" not in titles
    assert result.exchanges[1].events[-1].kind == "app returned"  # the other one has its answer


def test_an_aborted_request_ends_with_an_error_and_its_client_stays(chat, perform):
    result, _ = continued(chat, perform, "UserReply", "abort", rid=0, nth=3)
    assert '"code":"aborted"' in result.exchanges[0].body.decode().replace(" ", "")
    assert "AbortBackendMsg" in [step.title for step in result.steps]


def test_a_slow_client_makes_replies_wait(chat, perform):
    result, number = continued(chat, perform, "UserReply", "slow", rid=0, us=100_000, nth=2)
    unread = [step.after["api"].get(0, {}).get("ack_map", 0) for step in result.steps[number:]]
    assert max(unread) > 1


def test_a_dropped_message_never_arrives(chat, perform):
    result, number = continued(chat, perform, "UserMsg", "drop")
    assert result.steps[number - 1].arrived_us is None
    (finding,) = result.findings
    assert (finding.uid, finding.gap) == (0, "") and "lost on its way" in str(finding.note)


def test_a_delayed_message_comes_later_and_what_is_sent_behind_it_too(chat, perform):
    plain = perform(chat).steps
    result, number = continued(chat, perform, "DetokenizeMsg", "delay", us=35_000)
    late = result.steps[number - 1]
    assert late.arrived_us == plain[number - 1].arrived_us + 35_000
    behind = [step for step in result.steps[number:] if step.source == "scheduler" and step.kind == "message"]
    assert all(step.arrived_us >= late.arrived_us for step in behind)


def test_the_next_message_of_the_link_overtakes(chat, perform):
    result, number = continued(chat, perform, "DetokenizeMsg", "reorder")
    first = result.steps[number - 1]
    second = next(s for s in result.steps[number:] if (s.kind, s.target) == ("message", first.target))
    assert first.t_us < second.t_us <= second.arrived_us == first.arrived_us
    texts = [s.content[0]["incremental_output"] for s in result.steps if s.title == "UserReply"]
    assert "".join(texts[:2]) == "eh"


def test_one_that_nothing_overtakes_comes_by_itself(chat, perform):
    result, number = continued(chat, perform, "UserMsg", "reorder")
    assert result.steps[number - 1].arrived_us is not None
    assert result.findings == []


def test_a_fork_of_a_fork(chat, perform):
    first = perform(fork := forked(chat, perform(chat).steps, 20, "disconnect", rid=1))
    number = number_of(first.steps, "UserReply", nth=5)
    second = perform(forked(fork, first.steps, number, "delay", us=1_000))
    assert moves(second.steps[:number]) == moves(first.steps[:number])
    assert [step.title for step in second.steps if step.kind == "fork"] == ["disconnect", "delay"]


def test_a_fork_takes_hold_at_the_same_message_under_other_gaps(chat, perform):
    steps = perform(recording := under_gaps(chat, ["early-break", "late-abort"])).steps
    fork = forked(recording, steps, number_of(steps, "UserReply", nth=4), "disconnect", rid=0)
    result = perform(under_gaps(fork, []))
    (place,) = [step.number for step in result.steps if step.kind == "fork"]
    assert place - 1 == number_of(result.steps, "UserReply", nth=4)
    assert result.findings == []


def test_only_messages_are_dropped(chat, perform):
    steps = perform(chat).steps
    with pytest.raises(CannotFork, match="step 1 is no message"):
        forked(chat, steps, 1, "drop")


def test_other_gaps_show_from_the_first_step_that_differs(chat, perform):
    plain = perform(chat).steps
    gapped = perform(under_gaps(chat, ["early-break"])).steps
    number = first_difference(plain, gapped)
    assert moves(plain[: number - 1]) == moves(gapped[: number - 1])
    assert gapped[number - 1].kind == "gap"
    assert first_difference(plain, plain) == len(plain)


@pytest.mark.parametrize("scene", [scene.name for scene in scenes_of(5)])
@pytest.mark.parametrize("gaps", [(), ("reference",), ("late-abort",)])
def test_a_recording_as_if_it_had_been_taken_under_other_gaps_plays_as_it_does_under_them(scene, gaps):
    (found,) = scenes_of(5, scene)
    perform = partial(play, tokenizer=load_tokenizer(model_dir()))
    recording = read_recording(found.path)
    other = under_gaps(recording, gaps)
    assert bytes_of(perform(other, gaps=other.header.gaps).steps) == bytes_of(
        perform(recording, gaps=other.header.gaps).steps
    )


@pytest.mark.parametrize("back", [1, 2, 3])
def test_an_abort_that_is_under_way_comes_when_it_did(back):
    """The scene's abort follows from its stop string, not from a client that leaves."""
    recording = under_gaps(read_recording(scene_of_gap("leaked-stop")), [])
    perform = partial(play, tokenizer=load_tokenizer(model_dir()))
    steps = perform(recording).steps
    number = len(steps) - back
    result = perform(forked(recording, steps, number, "disconnect", rid=0))
    assert moves([step for step in result.steps if step.kind != "fork"]) == moves(steps)
