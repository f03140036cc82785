"""What the chapters state of the system, and how each statement is shown here.

The statements are data, in ``chapters/claims``: a table for each, by its number. One
may be shown by a scene, in which certain steps are to be found; by the code, where
something must be there and do certain things; by tests; by an exercise. A few are about
the texts alone, and say so in ``about``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from ..language import Sentence
from ..resources import chapters_dir
from .scenes import scene_of_gap, scenes_of
from .steps import Step

Amounts = dict[str, dict[str, int]]
"""component -> what it holds -> how much."""

NOT_HELD = -1
"""The amount of something that is not held. An entry of a map may be held with the amount 0."""


class Pick(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The steps that have all of what is given.

    ``hop`` is "source > target"; ``type`` the step's title, or the type of a message in
    it, which then is the one that ``has`` these values and ``lacks`` those fields.
    ``function`` is the end of the name of a function that sent it, ``text`` a part of
    what a client is sent, of what it asks, or of a finding. ``before`` and ``after``
    are what was held for ``uid``, else for the step's first one.
    """

    hop: str = ""
    type: str = ""
    uid: int | None = None
    has: dict[str, Any] = {}
    lacks: tuple[str, ...] = ()
    function: str = ""
    text: str = ""
    gap: str = ""
    before: Amounts = {}
    after: Amounts = {}

    def matches(self, step: Step) -> bool:
        return (
            self.hop in ("", f"{step.source} > {step.target}")
            and (self.uid is None or self.uid in step.uids)
            and self.gap in ("", step.gap)
            and self._matches_content(step)
            and (not self.function or any(place.function.endswith(self.function) for place in step.where))
            and self._holds(step, step.before, self.before)
            and self._holds(step, step.after, self.after)
        )

    def _matches_content(self, step: Step) -> bool:
        if self.text and self.text not in _text_of(step):
            return False
        if self.type and self.type != step.title and not _messages(step, self.type):
            return False
        if not self.has and not self.lacks:
            return True
        return any(self._has(message) for message in _messages(step, self.type) or step.content)

    def _has(self, message: dict[str, Any]) -> bool:
        values = all(message.get(name) == value for name, value in self.has.items())
        return values and not any(message.get(name) is not None for name in self.lacks)

    def _holds(self, step: Step, held: dict[str, dict[int, dict[str, int]]], wanted: Amounts) -> bool:
        if not wanted:
            return True
        uid = self.uid if self.uid is not None else next(iter(step.uids), -1)
        return all(
            held.get(component, {}).get(uid, {}).get(what, NOT_HELD) == amount
            for component, amounts in wanted.items()
            for what, amount in amounts.items()
        )


class Place(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something in the code: ``at`` is a file below the package and, behind a colon, a name in it.

    ``uses`` and ``lacks`` are names, attributes, parameters or literals within it.
    """

    at: str
    form: Literal["", "class", "def", "async def"] = ""
    uses: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A statement. ``gaps`` are switched on in its scene; ``note`` says where this system differs."""

    kind: Literal["behaviour", "structure", "gap", "limitation", "concept"]
    says: str
    scene: str = ""
    gaps: tuple[str, ...] = ()
    steps: tuple[Pick, ...] = ()
    never: tuple[Pick, ...] = ()
    code: tuple[Place, ...] = ()
    tests: tuple[str, ...] = ()
    exercise: str = ""
    about: str = ""
    note: str = ""


class UnknownClaim(ValueError):
    """There is no claim of that number."""


class NotShown(AssertionError):
    """A scene does not have the steps that a claim names."""


def read_claims() -> dict[str, dict[str, Claim]]:
    """All claims by family and number, in the order of their files."""
    return {
        path.stem.partition("-")[2]: msgspec.toml.decode(path.read_bytes(), type=dict[str, Claim])
        for path in sorted((chapters_dir() / "claims").glob("*.toml"))
    }


def claim(number: str) -> Claim:
    """The claim of that number.

    Raises:
        UnknownClaim: there is none.
    """
    for family in read_claims().values():
        if number in family:
            return family[number]
    raise UnknownClaim(
        Sentence(
            "there is no claim {number!r}; they are C5.1 to C5.189, K5.1 to K5.72, C2.1 to C2.117",
            number=number,
        )
    )


def scene_path(name: str) -> Path:
    """The recording of a chapter's scene, or that of a gap."""
    for chapter in (2, 5):
        for scene in scenes_of(chapter):
            if scene.name == name:
                return scene.path
    return scene_of_gap(name)


def steps_of(shown: Claim, steps: Sequence[Step]) -> list[Step]:
    """The steps that show a claim, one for each that it names, each behind the one before it.

    Raises:
        NotShown: one is not there, or one is there that must never be.
    """
    for pick in shown.never:
        for step in steps:
            if pick.matches(step):
                raise NotShown(f"step {step.number} is {pick}")
    found: list[Step] = []
    for pick in shown.steps:
        behind = found[-1].number if found else 0
        shows = next((step for step in steps[behind:] if pick.matches(step)), None)
        if shows is None:
            raise NotShown(f"no step behind {behind} is {pick}")
        found.append(shows)
    return found


def _messages(step: Step, kind: str) -> list[dict[str, Any]]:
    return [message for message in step.content if message.get("type") == kind]


def _text_of(step: Step) -> str:
    return " ".join(
        [str(step.note), *(str(each.get(key, "")) for each in step.content for key in ("text", "body"))]
    )
