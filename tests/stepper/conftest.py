"""The stepper on the scenes of chapter 5, without a terminal."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from minisgl_tutor.language import ENGLISH, Sentence
from minisgl_tutor.recording import Recording, read_recording
from minisgl_tutor.resources import model_dir
from minisgl_tutor.stepper.app import StepApp
from minisgl_tutor.stepper.takes import Scene
from minisgl_tutor.tokenizer.load import load_tokenizer
from minisgl_tutor.tokenizer.tokenizer import Tokenizer
from minisgl_tutor.trace.fork import under_gaps
from minisgl_tutor.trace.play import Play, play
from minisgl_tutor.trace.scenes import scenes_of
from minisgl_tutor.views.source import Sources


@cache
def _tokenizer() -> Tokenizer:
    return load_tokenizer(model_dir())


@cache
def _scene(name: str) -> Scene:
    (found,) = scenes_of(5, name)
    recording = read_recording(found.path)
    return Scene(name, Sentence(recording.header.title), under_gaps(recording, ["reference"]))


def replay(recording: Recording) -> Play:
    return play(recording, _tokenizer(), tuple(recording.header.gaps))


@cache
def _first(name: str) -> Play:
    return replay(_scene(name).recording)


class Saved(dict[str, Recording]):
    """What the stepper has saved, by file name; ``full``: there is no room."""

    full = False

    def save(self, name: str, recording: Recording) -> Path:
        if self.full:
            raise OSError(28, "No space left on device")
        path = Path(f"{name}-fork-{len(self) + 1}.jsonl")
        self[str(path)] = recording
        return path


@pytest.fixture
def scene() -> Callable[[str], tuple[Scene, Play]]:
    return lambda name: (_scene(name), _first(name))


@pytest.fixture
def perform() -> Callable[[Recording], Play]:
    return replay


@pytest.fixture
def saved() -> Saved:
    return Saved()


@pytest.fixture
def app(saved: Saved) -> StepApp:
    # Played here: a play has an event loop of its own, and the tests run in one.
    scenes = [_scene("normal-end"), _scene("client-leaves")]
    command = "minisgl-tutor trace"
    return StepApp(scenes, _first("normal-end"), replay, saved.save, Sources(), command, ENGLISH)
