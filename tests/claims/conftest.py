"""Scenes are played once a session, and looked at by all tests of claims."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import cache

import pytest

from minisgl_tutor.recording import read_recording
from minisgl_tutor.resources import model_dir
from minisgl_tutor.tokenizer.load import load_tokenizer
from minisgl_tutor.trace.claims import scene_path
from minisgl_tutor.trace.play import Play, play


@pytest.fixture(scope="session")
def played() -> Callable[[str, tuple[str, ...]], Play]:
    """The play of a scene under some gaps."""
    tokenizer = load_tokenizer(model_dir())

    @cache
    def played(scene: str, gaps: tuple[str, ...] = ()) -> Play:
        return play(read_recording(scene_path(scene)), tokenizer, gaps)

    return played


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """What the components log is not looked at here."""
    logging.getLogger("minisgl_tutor").addHandler(handler := logging.NullHandler())
    yield
    logging.getLogger("minisgl_tutor").removeHandler(handler)
