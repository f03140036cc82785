"""``trace --html`` and ``trace --perfetto``: the files, and what is said of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from minisgl_tutor.cli.main import main
from minisgl_tutor.cli.trace_plays import Chosen
from minisgl_tutor.recording import read_recording
from minisgl_tutor.trace.scenes import scene_of_gap

EXERCISE = "chapters/05-http-service/exercises/exercise-7"


def status_of(*arguments: object) -> object:
    with pytest.raises(SystemExit) as ended:
        main(["trace", *map(str, arguments)])
    return ended.value.code


def data_of(page: Path) -> dict[str, object]:
    text = page.read_text(encoding="utf-8")
    found: dict[str, object] = json.loads(text.split('id="data">')[1].split("</script>")[0])
    return found


def test_both_files_of_a_chapter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, trace = tmp_path / "page.html", tmp_path / "trace.json"
    assert not status_of("--chapter", 5, "--html", page, "--perfetto", trace)
    said = capsys.readouterr()
    assert said.out == "" and str(page) in said.err and str(trace) in said.err
    scenes = data_of(page)["scenes"]
    assert isinstance(scenes, list)
    assert [scene["name"] for scene in scenes][:2] == ["normal-end", "interleaved"]
    assert all(step["kind"] for scene in scenes for step in scene["steps"])
    assert json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]


def test_a_readers_own_code_is_on_the_page(tmp_path: Path) -> None:
    own = next(Path(__file__).parents[2].joinpath(EXERCISE, "solutions").glob("life_object.py"))
    page = tmp_path / "page.html"
    assert not status_of("--chapter", 5, "--scene", "client-leaves", "--yours", own, "--html", page)
    sources = data_of(page)["sources"]
    assert isinstance(sources, dict) and "life_object.py" in sources


def test_one_sentence_for_what_cannot_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nowhere = tmp_path / "nowhere" / "page.html"
    assert status_of("--chapter", 2, "--html", nowhere) == 2
    assert f"{nowhere} cannot be written: No such file or directory" in capsys.readouterr().err
    assert status_of("--chapter", 2, "--html", nowhere, "--json") == 2
    assert "give one or the other" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "name"),
    [("03-client-leaves.jsonl", "client-leaves"), ("run.jsonl", "run"), ("12-.jsonl", "12-")],
)
def test_the_name_of_a_scene(file: str, name: str) -> None:
    recording = read_recording(scene_of_gap("early-break"))
    assert Chosen(Path("somewhere") / file, recording, ()).name == name
