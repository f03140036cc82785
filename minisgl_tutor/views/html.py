"""A play as one page that needs nothing else: no network, no file beside it.

The page's own files lie in ``page/``: what is in the recording reaches it as JSON
that its script turns into text nodes; sentences are in it in every language. A
policy in the page lets the browser run that one script and load nothing.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from ..language import LANGUAGES, Language, Sentence, Tongue
from ..trace.steps import Held, Location, Step
from .changes import changes
from .shown import ShownScene, lanes, rank
from .source import Sources

PAGE = Path(__file__).parent / "page"
SCRIPTS = ("model.js", "page.js")

MOST_STEPS = 20_000
"""Of one scene. A browser draws no more than it shows, but it has to read all of them."""

MARGIN = 7
"""Lines of code shown before and behind the one that sent a message."""

LONGEST_TEXT = 4_000
LONGEST_LIST = 400
DEEPEST = 8

Delta = list[tuple[str, int, dict[str, int] | None]]
"""Component, uid, and what it holds for it from now on; null: nothing."""


def page(
    scenes: Iterable[ShownScene],
    from_step: int = 1,
    sources: Sources | None = None,
    most_steps: int = MOST_STEPS,
    language: Language = "en",
) -> bytes:
    """The page, opened at ``from_step`` in ``language``; it speaks all of them. It has up to ``most_steps``
    of each scene, no more than half of them before that step.

    Texts and lists longer than a reader can take in are cut, and say by how much.
    """
    code = _Code(sources or Sources())
    data = {
        "strings": msgspec.json.decode(_file("strings.json")),
        "language": language,
        "margin": MARGIN,
        "open": from_step,
        "scenes": [_scene(scene, from_step, most_steps, code) for scene in scenes],
        "sources": code.lines,
    }
    tongues = [Tongue(each) for each in LANGUAGES]

    def in_all_languages(value: object) -> dict[str, str]:
        assert isinstance(value, Sentence)
        return {say.language: say(value) for say in tongues}

    # Inside a script element, "<" could open a tag or a comment; in JSON it stands in strings alone.
    encoded = msgspec.json.encode(data, enc_hook=in_all_languages).replace(b"<", b"\\u003c").decode()
    style, script = _file("page.css"), "\n".join(_file(name) for name in SCRIPTS)
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {"policy": policy, "style": style, "script": script, "data": encoded}
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _file("page.html")).encode()


def _file(name: str) -> str:
    return (PAGE / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


class _Code:
    """The lines around every location that was asked for, by file and number."""

    def __init__(self, sources: Sources) -> None:
        self.lines: dict[str, dict[int, str]] = {}
        self._sources = sources
        self._seen: set[Location] = set()

    def add(self, locations: list[Location]) -> None:
        for location in locations:
            if location not in self._seen:
                self._seen.add(location)
                around = self._sources.around(location, MARGIN)
                if around:
                    self.lines.setdefault(location.file, {}).update(around)


def _scene(scene: ShownScene, from_step: int, most_steps: int, code: _Code) -> dict[str, Any]:
    steps = iter(scene.steps)
    skipped = sum(1 for _ in islice(steps, max(0, from_step - 1 - most_steps // 2)))
    shown = list(islice(steps, most_steps))
    total = skipped + len(shown) + sum(1 for _ in steps)
    told = []
    last: Held = {}
    for step in shown:
        told.append(_step(step, last))
        code.add(step.where)
        last = step.after
    return {
        "name": scene.name,
        "title": scene.title,
        "gaps": scene.gaps,
        "lanes": lanes(shown),
        "holders": sorted(last, key=lambda name: (rank(name), name)),
        "total": total,
        "steps": told,
    }


def _step(step: Step, last: Held) -> dict[str, Any]:
    """The step, its states as what differs from the state before it (``last``) and what it changed."""
    return {
        "number": step.number,
        "t": step.t_us,
        "arrived": step.arrived_us,
        "ended": step.ended_us,
        "kind": step.kind,
        "source": step.source,
        "target": step.target,
        "title": step.title,
        "uids": step.uids,
        "content": _cut(step.content),
        "where": step.where,
        "note": step.note or "",
        "gap": step.gap,
        "claims": step.claims,
        "came": _delta(last, step.before),
        "changed": _delta(step.before, step.after),
    }


def _delta(before: Held, after: Held) -> Delta:
    return [(change.component, change.uid, change.after or None) for change in changes(before, after)]


def _cut(value: Any, depth: int = 0) -> Any:
    if isinstance(value, str):
        more = len(value) - LONGEST_TEXT
        return value if more <= 0 else f"{value[:LONGEST_TEXT]}… (+{more})"
    if isinstance(value, list | tuple | dict) and depth >= DEEPEST:
        return "…"
    if isinstance(value, dict):
        items = islice(value.items(), LONGEST_LIST)
        return {str(_cut(name)): _cut(item, depth + 1) for name, item in items}
    if isinstance(value, list | tuple):
        more = len(value) - LONGEST_LIST
        shown = [_cut(item, depth + 1) for item in value[:LONGEST_LIST]]
        return shown if more <= 0 else [*shown, f"… (+{more})"]
    return value
