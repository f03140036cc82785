"""The scenes: recordings in the order in which a chapter tells them, and one for each gap."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..gaps import GAPS
from ..language import Sentence, joined, verbatim
from ..recording import Recording
from ..resources import chapters_dir

CHAPTER_OF_GAPS = 5
"""The one whose scenes show the gaps that it names."""


class SceneNotFound(ValueError):
    """There is no such chapter or scene."""


@dataclass(frozen=True)
class Scene:
    """``name`` is the file's name without its number, as ``--scene`` takes it."""

    chapter: int
    name: str
    path: Path


def chapters() -> list[int]:
    """The chapters that have scenes."""
    return sorted({int(path.parts[-3][:2]) for path in chapters_dir().glob("[0-9][0-9]-*/scenes/*.jsonl")})


def scenes_of(chapter: int, name: str | None = None) -> list[Scene]:
    """The scenes of a chapter, or the one that is named.

    Raises:
        SceneNotFound: it names what there is.
    """
    paths = sorted(chapters_dir().glob(f"{chapter:02d}-*/scenes/*.jsonl"))
    scenes = [Scene(chapter, path.stem.partition("-")[2], path) for path in paths]
    if not scenes:
        known = ", ".join(str(number) for number in chapters())
        raise SceneNotFound(
            Sentence(
                "chapter {chapter} has no scenes; the chapters that have some are: {known}",
                chapter=chapter,
                known=known,
            )
        )
    if name is None:
        return scenes
    chosen = [scene for scene in scenes if scene.name == name]
    if not chosen:
        known = ", ".join(scene.name for scene in scenes)
        raise SceneNotFound(
            Sentence(
                "chapter {chapter} has no scene {name!r}; its scenes are: {known}",
                chapter=chapter,
                name=name,
                known=known,
            )
        )
    return chosen


def title_of(recording: Recording, path: Path) -> Sentence:
    """What a recording is called: by its title, else by its file. A fork's title begins with its scene's."""
    scene, *forks = (recording.header.title or path.name).split(" | ")
    return joined(" | ", [Sentence(scene), *map(verbatim, forks)])


def scene_of_gap(name: str) -> Path:
    """The recording in which the gap of that name, once switched on, is found."""
    (gap,) = (gap for gap in GAPS if gap.name == name)
    if gap.scene:
        (scene,) = scenes_of(CHAPTER_OF_GAPS, gap.scene)
        return scene.path
    return chapters_dir() / "gaps" / "scenes" / f"{name}.jsonl"
