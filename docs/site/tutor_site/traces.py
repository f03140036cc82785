"""The pages of the scenes, and their places in the text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from html import escape
from itertools import chain
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
from .places import Gaps, places
from .words import WORDS, Language

FOLDER = "traces"


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


class Traces:
    """Every scene of a chapter, and of every gap that has one of its own."""

    def __init__(self, texts: list[str]) -> None:
        ways: dict[Path, dict[Gaps, None]] = {}
        scenes = {scene.path: scene for chapter in chapters() for scene in scenes_of(chapter)}
        for path, scene in scenes.items():
            # As `trace --chapter` plays it: with `--fixed`, and without.
            ways[path] = {(): None, resolve(["reference"]): None} if scene.chapter == 5 else {(): None}
        for gap in GAPS:
            ways.setdefault(scene_of_gap(gap.name), {(): None})[(gap.name,)] = None
        for place in chain.from_iterable(map(places, texts)):
            ways[place.recording][place.gaps] = None
        self.by_recording = {
            path: Trace(
                scenes[path].chapter if path in scenes else None,
                scenes[path].name if path in scenes else path.stem,
                path,
                tuple(gaps),
            )
            for path, gaps in ways.items()
        }
        self.of_scene = {
            (scene.chapter, scene.name): self.by_recording[path] for path, scene in scenes.items()
        }

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
        """``text`` with the page of each scene below its first excerpt, or else below the first command
        that plays it, and links to its page below the others.
        """
        words = WORDS[language]
        found = places(text)
        # Of places with the same recording the last one stays, so the first excerpt comes last of all.
        framed = {place.recording: place for place in sorted(reversed(found), key=lambda each: each.excerpt)}
        for place in reversed(found):
            trace = self.by_recording[place.recording]
            address = to_root + trace.address(language, place.gaps, place.step)
            if framed[place.recording] is place:
                shown = frame(address, words["trace of"].format(scene=trace.name), words["open trace"])
            else:
                shown = link(address, words["from step"].format(step=place.step))
            text = f"{text[: place.end]}\n{shown}\n\n{text[place.end :]}"
        return text


def frame(address: str, title: str, fallback: str) -> str:
    """A page in the page, and a link for whoever does not see it there."""
    return (
        f'<figure class="trace"><iframe data-src="{escape(address)}" title="{escape(title)}" loading="lazy">'
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
