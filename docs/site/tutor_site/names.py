"""Links for the names in the text: of exercises, scenes and gaps."""

from __future__ import annotations

import re

from minisgl_tutor.exercises.catalogue import UnknownExercise, resolve
from minisgl_tutor.gaps import GAPS

from .exercises import page_name
from .links import raw, to_name
from .pages import Page
from .traces import Traces

STARTED = re.compile(r"minisgl-tutor (?:start|check) (\S+)")
EXERCISE = re.compile(r"exercise-\w+")
PLAYED = re.compile(r"(?:minisgl-tutor )?trace --gap ([\w-]+)")


def linked(page: Page, code: str, traces: Traces) -> str | None:
    """The Markdown of a link, where a chapter names in code what the site has a page of."""
    if page.source.parts[0] != "chapters":
        return None
    gaps = {gap.name for gap in GAPS}
    shown = f"`{code}`"
    if (exercise := _exercise_page(code)) and exercise != page.name:
        return to_name(page, exercise, shown)
    if code in gaps:
        return to_name(page, "gaps", shown, f"#{code}")
    if (played := PLAYED.fullmatch(code)) and played[1] in gaps:
        return raw(page.to_root + traces.of_gap(played[1]).address(page.language, (played[1],)), shown)
    chapter = int(page.source.parts[1][:2])
    if (chapter, code) in traces.of_scene:
        return raw(page.to_root + traces.of_scene[chapter, code].address(page.language, ()), shown)
    return None


def _exercise_page(code: str) -> str:
    started = STARTED.fullmatch(code)
    if not started and not EXERCISE.fullmatch(code):
        return ""
    try:
        return page_name(resolve(started[1] if started else code))
    except UnknownExercise:
        return ""
