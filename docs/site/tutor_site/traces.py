"""The pages of the scenes, and their places in the text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from urllib.parse import urlencode

from minisgl_tutor.gaps import GAPS, resolve
from minisgl_tutor.language import Sentence, Tongue
from minisgl_tutor.recording import read_recording
from minisgl_tutor.resources import model_dir
from minisgl_tutor.tokenizer.load import load_tokenizer
from minisgl_tutor.trace.play import play
from minisgl_tutor.trace.scenes import chapters, scene_of_gap, scenes_of, title_of
from minisgl_tutor.views.html import page as page_of_trace
from minisgl_tutor.views.shown import ShownScene

from .links import to_name
from .pages import Page
from .words import WORDS, Language

FOLDER = "traces"
MARKER = re.compile(
    r"^<!-- (?:trace|embed): chapter (?P<chapter>\d+) scene (?P<scene>\S+) steps (?P<first>\d+)[\d,-]*"
    r"(?: gaps (?P<gaps>\S+))? -->\n(?P<block>```.*?^```\n)?",
    re.MULTILINE | re.DOTALL,
)

Gaps = tuple[str, ...]


@dataclass(frozen=True)
class Trace:
    """A recording, and with which gaps it is played; the first way is the one that is shown first."""

    chapter: int | None
    name: str
    recording: Path
    ways: tuple[Gaps, ...]

    @cached_property
    def title(self) -> Sentence:
        return title_of(read_recording(self.recording), self.recording)

    @property
    def file(self) -> str:
        return f"{FOLDER}/{self.name}.html"

    def way_name(self, gaps: Gaps) -> str:
        """What the page calls it in its address and its choice."""
        if not gaps:
            return self.name
        return f"{self.name} + {'reference' if gaps == resolve(['reference']) else ', '.join(gaps)}"

    def address(self, language: Language, gaps: Gaps, step: int = 1) -> str:
        """From the folder of all languages."""
        return f"{self.file}#{urlencode({'scene': self.way_name(gaps), 'step': step, 'lang': language})}"


def way_words(gaps: Gaps, language: Language) -> str:
    words = WORDS[language]
    if not gaps:
        return words["as it is"]
    if gaps == resolve(["reference"]):
        return words["with reference"]
    return words["with"].format(gaps=", ".join(f"`{gap}`" for gap in gaps))


def gaps_of(marker: re.Match[str]) -> Gaps:
    return resolve(marker["gaps"].split(",")) if marker["gaps"] else ()


class Traces:
    """Every scene of a chapter, and of every gap that has one of its own."""

    def __init__(self, texts: list[str]) -> None:
        asked = [found for text in texts for found in MARKER.finditer(text)]
        ways: dict[Path, dict[Gaps, None]] = {}
        scenes = {scene.path: scene for chapter in chapters() for scene in scenes_of(chapter)}
        for path, scene in scenes.items():
            # As `trace --chapter` plays it: with `--fixed`, and without.
            ways[path] = {(): None, resolve(["reference"]): None} if scene.chapter == 5 else {(): None}
        for gap in GAPS:
            ways.setdefault(scene_of_gap(gap.name), {(): None})[(gap.name,)] = None
        by_name = {(scene.chapter, scene.name): scene.path for scene in scenes.values()}
        for marker in asked:
            path = by_name[int(marker["chapter"]), marker["scene"]]
            ways[path][gaps_of(marker)] = None
        self.by_recording = {
            path: Trace(
                scenes[path].chapter if path in scenes else None,
                scenes[path].name if path in scenes else path.stem,
                path,
                tuple(gaps),
            )
            for path, gaps in ways.items()
        }
        self.of_scene = {key: self.by_recording[path] for key, path in by_name.items()}

    def of_gap(self, name: str) -> Trace:
        return self.by_recording[scene_of_gap(name)]

    def write(self, into: Path) -> None:
        """Plays everything there is, and writes a page for each recording."""
        tokenizer = load_tokenizer(model_dir())
        for trace in self.by_recording.values():
            recording = read_recording(trace.recording)
            shown = []
            for gaps in trace.ways:
                result = play(recording, tokenizer, gaps)
                shown.append(ShownScene(trace.way_name(gaps), trace.title, result.gaps, result.steps))
            target = into / trace.file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(page_of_trace(shown))

    def embedded(self, text: str, to_root: str, language: Language) -> str:
        """``text`` with the page of each scene below its first excerpt, and a link below the others.

        A marker ``embed`` instead of ``trace`` is a place for it without an excerpt.
        """
        seen: set[Trace] = set()
        words = WORDS[language]

        def below(marker: re.Match[str]) -> str:
            trace = self.of_scene[int(marker["chapter"]), marker["scene"]]
            step = int(marker["first"])
            address = to_root + trace.address(language, gaps_of(marker), step)
            if trace in seen:
                shown = link(address, words["from step"].format(step=step))
            else:
                seen.add(trace)
                shown = frame(address, words["trace of"].format(scene=trace.name), words["open trace"])
            return f"{marker['block'] or ''}\n{shown}\n\n"

        return MARKER.sub(below, text)


def frame(address: str, title: str, fallback: str) -> str:
    """A page in the page, and a link for whoever does not see it there."""
    return (
        f'<figure class="trace"><iframe src="{escape(address)}" title="{escape(title)}" loading="lazy">'
        "</iframe>"
        f'<figcaption><a href="{escape(address)}" target="_blank">{fallback}</a></figcaption></figure>'
    )


def link(address: str, text: str) -> str:
    return f'<p class="trace"><a href="{escape(address)}" target="_blank">{text}</a></p>'


def traces_page(traces: Traces, page: Page) -> str:
    """The list of them all."""
    language, words, say = page.language, WORDS[page.language], Tongue(page.language)
    lines = [f"# {words['traces']}", "", words["traces intro"], ""]
    for chapter in [*chapters(), None]:
        heading = words["gaps"] if chapter is None else words["scenes of"].format(chapter=chapter)
        lines += [
            f"## {heading}",
            "",
            f"| {words['scene']} | {words['what']} | {words['played']} |",
            "|---|---|---|",
        ]
        for trace in sorted(traces.by_recording.values(), key=lambda each: each.recording.name):
            if trace.chapter == chapter:
                addresses = {
                    gaps: escape(page.to_root + trace.address(language, gaps)) for gaps in trace.ways
                }
                ways = [f'<a href="{to}">{way_words(gaps, language)}</a>' for gaps, to in addresses.items()]
                name = f"`{trace.name}`"
                if chapter is None:
                    name = to_name(page, "gaps", name, f"#{trace.name}")
                lines.append(f"| {name} | {say(trace.title)} | {'<br>'.join(ways)} |")
        lines.append("")
    return "\n".join(lines)
