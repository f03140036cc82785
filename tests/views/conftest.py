"""Every scene there is, played once, and pages of them in a browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from chromium import browser as browser
from chromium import size

from minisgl_tutor.gaps import resolve
from minisgl_tutor.language import Language, Sentence
from minisgl_tutor.recording import read_recording
from minisgl_tutor.resources import chapters_dir, model_dir
from minisgl_tutor.tokenizer.load import load_tokenizer
from minisgl_tutor.trace.play import Play, play
from minisgl_tutor.trace.steps import Step
from minisgl_tutor.views.html import page
from minisgl_tutor.views.shown import ShownScene

KEYS = {
    "ArrowLeft": "\ue012",
    "ArrowUp": "\ue013",
    "ArrowRight": "\ue014",
    "ArrowDown": "\ue015",
    "PageUp": "\ue00e",
    "PageDown": "\ue00f",
    "End": "\ue010",
    "Home": "\ue011",
    "Tab": "\ue004",
    "Escape": "\ue00c",
}
"""What WebDriver calls them."""


def scene_paths() -> dict[str, Path]:
    """By the names of the folder and of the file."""
    found = sorted(chapters_dir().glob("*/scenes/*.jsonl"))
    return {f"{path.parts[-3]}/{path.stem}": path for path in found}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test of ``scene_name`` is one of every scene."""
    if "scene_name" in metafunc.fixturenames:
        metafunc.parametrize("scene_name", scene_paths())


@cache
def _tokenizer() -> Any:
    return load_tokenizer(model_dir())


@cache
def _played(name: str) -> Play:
    recording = read_recording(scene_paths()[name])
    return play(recording, _tokenizer(), resolve(recording.header.gaps))


@pytest.fixture
def played() -> Callable[[str], Play]:
    """A scene under the gaps that it was recorded with; a play is not to be changed."""
    return _played


@pytest.fixture
def shown() -> Callable[[str], ShownScene]:
    def scene(name: str) -> ShownScene:
        result = _played(name)
        return ShownScene(name, Sentence(result.header.title), result.gaps, result.steps)

    return scene


def step(number: int = 1, **fields: Any) -> Step:
    """A message from the scheduler to the detokenizer, at 10 µs a step, except for ``fields``."""
    usual: dict[str, Any] = {
        "number": number,
        "t_us": number * 10,
        "kind": "message",
        "source": "scheduler",
        "target": "detokenizer",
        "title": "DetokenizeMsg",
        "uids": [0],
        "content": [{"type": "DetokenizeMsg", "uid": 0, "next_token": number}],
        "where": [],
        "arrived_us": number * 10 + 5,
        "before": {"scheduler": {}, "detokenizer": {}},
        "after": {"scheduler": {}, "detokenizer": {0: {"decode_map": number}}},
    }
    return Step(**{**usual, **fields})


@pytest.fixture
def make_step() -> Callable[..., Step]:
    return step


class Looked:
    """A page in the browser."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    @property
    def number(self) -> int:
        """Of the step that is shown."""
        return int(self.text("#step").partition(" ")[0].removeprefix("#"))

    def find(self, selector: str) -> list[Any]:
        found: list[Any] = self.driver.find_elements("css selector", selector)
        return found

    def text(self, selector: str) -> str:
        return str(self.evaluate("return document.querySelector(arguments[0]).innerText", selector))

    def click(self, selector: str, place: int = 0) -> None:
        self.find(selector)[place].click()

    def press(self, *keys: str) -> None:
        """By the names that a page sees; a capital letter is one with Shift."""
        for key in keys:
            self.driver.switch_to.active_element.send_keys(KEYS.get(key, key))

    def evaluate(self, script: str, *arguments: object) -> Any:
        return self.driver.execute_script(script, *arguments)


@pytest.fixture
def look(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Looked]]:
    """Opens a page of these scenes at this place (what follows the # in its address).

    At the end of the test the page must not have complained, nor asked for anything from anywhere.
    """

    def open_page(
        *scenes: ShownScene, place: str = "", width: int = 1280, dark: bool = False, language: Language = "en"
    ) -> Looked:
        file = tmp_path / "page.html"
        file.write_bytes(page(scenes, language=language))
        size(browser, width, dark)
        browser.get(f"{file.as_uri()}#{place}")
        return Looked(browser)

    yield open_page
    assert browser.get_log("browser") == []
    assert (
        browser.execute_script("return performance.getEntriesByType('resource').map((it) => it.name)") == []
    )
