"""Claims that a scene shows: its steps, in their order, with the claim's gaps switched on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from minisgl_tutor.trace.claims import Claim, NotShown, Pick, read_claims, steps_of
from minisgl_tutor.trace.play import Play

SHOWN = {number: each for family in read_claims().values() for number, each in family.items() if each.scene}
BY_A_GAP = {number: each for number, each in SHOWN.items() if each.gaps}
Played = Callable[[str, tuple[str, ...]], Play]


@pytest.mark.parametrize("number", SHOWN)
def test_a_scene_shows_it(played: Played, number: str) -> None:
    each = SHOWN[number]
    assert len(steps_of(each, played(each.scene, each.gaps).steps)) == len(each.steps)


@pytest.mark.parametrize("number", BY_A_GAP)
def test_without_its_gap_the_scene_does_not_show_it(played: Played, number: str) -> None:
    """Else the claim would hold here as it stands, and need no gap."""
    each = BY_A_GAP[number]
    with pytest.raises(NotShown):
        steps_of(each, played(each.scene, ()).steps)


def test_steps_are_found_in_their_order_only(played: Played) -> None:
    steps = played("journey", ()).steps
    there, back = Pick(type="TokenizeMsg"), Pick(type="UserReply")
    assert [step.number for step in steps_of(Claim("concept", "", steps=(there, back)), steps)] == [2, 7]
    with pytest.raises(NotShown, match="no step behind 7"):
        steps_of(Claim("concept", "", steps=(back, there)), steps)
    with pytest.raises(NotShown, match="step 2 is"):
        steps_of(Claim("concept", "", never=(there,)), steps)


@pytest.mark.parametrize(
    "pick",
    [
        Pick(hop="api > scheduler"),
        Pick(type="AbortMsg"),
        Pick(uid=1),
        Pick(type="TokenizeMsg", has={"uid": 7}),
        Pick(type="TokenizeMsg", lacks=("text",)),
        Pick(type="TokenizeMsg", function="collect"),
        Pick(text="nobody says this"),
        Pick(gap="early-break"),
        Pick(type="TokenizeMsg", after={"api": {"ack_map": 1}}),
        Pick(type="TokenizeMsg", before={"api": {"ack_map": -1}}),
    ],
    ids=str,
)
def test_what_is_not_so_is_not_found(played: Played, pick: Pick) -> None:
    with pytest.raises(NotShown):
        steps_of(Claim("concept", "", steps=(pick,)), played("journey", ()).steps)
