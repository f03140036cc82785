"""Each gap has a scene: with it on the auditor names it at a certain step, without it nothing is found."""

from __future__ import annotations

from functools import cache

import pytest

from minisgl_tutor.gaps import GAPS, OBSERVED, REFERENCE, resolve
from minisgl_tutor.recording import read_recording
from minisgl_tutor.resources import model_dir
from minisgl_tutor.tokenizer.load import load_tokenizer
from minisgl_tutor.trace.play import Play, play
from minisgl_tutor.trace.scenes import scene_of_gap

NAMED = {
    "reference-wire": (9, 0, "api", "type 'text_completion.chunk'"),
    "double-free": (12, 0, "scheduler", "slot 0 is free twice"),
    "freed-and-cached": (8, 0, "scheduler", "page 0 is free and cached at once"),
    "dangling-page": (9, 1, "scheduler", "page 2 is free and used by request 1 at once"),
    "early-slot": (10, 0, "scheduler", "slot 0 is free and used by request 0 at once"),
    "overtaking-abort": (31, 0, "scheduler", "8 tokens were made for nobody"),
    "early-length": (32, 0, "scheduler", "at token 7 of 8"),
    "unordered-running": (19, 0, "scheduler", "take their turns otherwise"),
    "fragile-worker": (5, 0, "api", "its client waits for ever"),
    "lost-tail": (11, 0, "detokenizer", "told '\u518d', and the tokens say '\u518d\ufffd'"),
    "token-by-token": (19, 0, "detokenizer", "the tokens say '\u518d\u89c1\uff01'"),
    "leaked-stop": (25, 0, "detokenizer", "told 'A KV cache keeps', and the tokens say 'A KV cache'"),
    "forget-first": (45, 0, "api", "no abort was sent, and 8 tokens were made for nobody"),
}
"""By gap: the step at which the auditor names it, the request, the component, and what is said of it."""


@cache
def scene(name: str, gaps: tuple[str, ...] = (), spec_version: str = "2.3") -> Play:
    tokenizer = load_tokenizer(model_dir())
    return play(read_recording(scene_of_gap(name)), tokenizer, resolve(gaps), spec_version=spec_version)


@pytest.mark.parametrize("name", NAMED)
def test_the_auditor_names_the_gap_and_no_other(name: str) -> None:
    played = scene(name, (name,))
    first = next(step for step in played.steps if step.kind == "gap")
    number, uid, component, said = NAMED[name]
    assert (first.number, first.gap, first.uids, first.source) == (number, name, [uid], component)
    assert said in str(first.note) and first.claims
    assert {finding.gap for finding in played.findings} == {name}


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("spec_version", ["2.3", "2.4"])
def test_without_the_gap_nothing_is_found(name: str, spec_version: str) -> None:
    played = scene(name, (), spec_version)
    assert played.findings == []
    assert not any(played.held.values())


@pytest.mark.parametrize("name", NAMED)
def test_other_gaps_do_not_show_as_this_one(name: str) -> None:
    others = tuple(gap.name for gap in GAPS if gap.name != name and gap.name not in REFERENCE)
    assert name not in {finding.gap for finding in scene(name, others).findings}


@pytest.mark.parametrize("name", NAMED)
def test_all_that_the_reference_has_can_be_on_together(name: str) -> None:
    """It may end the scheduler, but never the play."""
    found = {finding.gap for finding in scene(name, ("observed",)).findings}
    assert found & set(OBSERVED)


@pytest.mark.parametrize("gap", GAPS, ids=lambda gap: gap.name)
def test_every_gap_has_a_scene_in_which_it_changes_something(gap) -> None:
    with_it, without = scene(gap.name, (gap.name,)), scene(gap.name)
    assert [step.content for step in with_it.steps] != [step.content for step in without.steps]


def test_sets_of_gaps() -> None:
    """The chapters' scenes are recorded with ``reference`` on, which therefore stays as it is."""
    assert resolve(["reference"]) == REFERENCE == tuple(gap.name for gap in GAPS)[: len(REFERENCE)]
    assert set(REFERENCE) < set(OBSERVED) == set(resolve(["observed"]))
    assert not {"dangling-page", "token-by-token", "leaked-stop", "forget-first"} & set(OBSERVED)
