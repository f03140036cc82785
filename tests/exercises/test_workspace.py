"""The reader's folder: nothing of theirs is overwritten, and a damaged progress file is survived."""

from __future__ import annotations

from pathlib import Path

import pytest

from minisgl_tutor.exercises.catalogue import UnknownExercise, resolve
from minisgl_tutor.exercises.workspace import NAME, STARTERS, Workspace, WorkspaceError

SEVEN = resolve("exercise-7")


@pytest.mark.parametrize("name", ["exercise-7", "7", "5.7", " Exercise-7 ", "exercise-7.py"])
def test_every_name_of_an_exercise_is_understood(name: str) -> None:
    assert resolve(name) == SEVEN


@pytest.mark.parametrize("name", ["", "99", "2.70", "exercise", "5c"])
def test_an_unknown_name_is_answered_with_what_there_is(name: str) -> None:
    with pytest.raises(UnknownExercise, match=r"there are: .*5\.7"):
        resolve(name)


def test_the_starter_is_put_there_once(tmp_path: Path) -> None:
    workspace = Workspace.find(tmp_path)
    assert workspace.state(SEVEN) == "not-started"
    assert workspace.start(SEVEN)
    assert workspace.state(SEVEN) == "started"
    file = workspace.file(SEVEN)
    assert file.read_bytes() == (SEVEN.path / "starter.py").read_bytes()
    file.write_text("mine")
    assert not workspace.start(SEVEN)
    assert file.read_text() == "mine"


def test_a_starter_is_in_the_language_of_its_reader_and_known_in_another(tmp_path: Path) -> None:
    english, chinese = (SEVEN.path / name for name in STARTERS.values())
    in_english, in_chinese = Workspace(tmp_path), Workspace(tmp_path, "zh")
    assert in_chinese.start(SEVEN)
    file = in_chinese.file(SEVEN)
    assert file.read_bytes() == chinese.read_bytes()
    for workspace in (in_english, in_chinese):
        for starter in (english, chinese):
            text = starter.read_text("utf-8")
            assert workspace.begun_from(SEVEN, text.replace("uid_counter += 1", "uid_counter += 2")) == text
    assert in_chinese.begun_from(SEVEN, "") == chinese.read_text("utf-8")
    assert in_chinese.reset(SEVEN) is None
    kept = in_english.reset(SEVEN)
    assert kept and kept.read_bytes() == chinese.read_bytes()
    assert file.read_bytes() == english.read_bytes()


def test_the_workspace_is_found_from_inside_and_below(tmp_path: Path) -> None:
    below = tmp_path / NAME / ".failures"
    below.mkdir(parents=True)
    for here in (tmp_path, tmp_path / NAME, below):
        assert Workspace.find(here).root == tmp_path / NAME
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert Workspace.find(elsewhere).root == tmp_path / NAME


def test_a_file_in_the_place_of_the_folder_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text("")
    with pytest.raises(WorkspaceError, match=f"{NAME} cannot be written: Not a directory"):
        Workspace(tmp_path / NAME).start(SEVEN)


def test_what_was_passed_stays_passed(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.start(SEVEN)
    workspace.pass_(SEVEN, workspace.digest(SEVEN))
    assert Workspace(tmp_path).state(SEVEN) == "passed"
    assert workspace.set_aside_damage() is None


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b'{"passed": 3}', b'{"passed": []}', b"\xff\xfe", b"[" * 9999]
)
def test_a_damaged_progress_file_is_set_aside(damage: bytes, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.start(SEVEN)
    (tmp_path / ".progress.json").write_bytes(damage)
    assert workspace.state(SEVEN) == "started"
    kept = workspace.set_aside_damage()
    assert kept == tmp_path / ".progress.damaged"
    assert kept.read_bytes() == damage
    workspace.pass_(SEVEN, workspace.digest(SEVEN))
    assert workspace.state(SEVEN) == "passed"


def test_a_file_that_is_not_what_passed_is_told_from_it(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.start(SEVEN)
    right = workspace.file(SEVEN).read_text()
    workspace.pass_(SEVEN, workspace.digest(SEVEN))
    workspace.file(SEVEN).write_text("pass")
    assert workspace.state(SEVEN) == "changed"
    workspace.file(SEVEN).write_text(right)
    assert workspace.state(SEVEN) == "passed"
    workspace.file(SEVEN).unlink()
    assert workspace.state(SEVEN) == "passed"


def test_what_is_asked_lies_beside_the_file_and_its_links_lead_there(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    originals = [SEVEN.path / "README.md", SEVEN.path / "README.zh.md"]
    assert workspace.texts(SEVEN) == originals
    workspace.start(SEVEN)
    copies = [tmp_path / "exercise-7.md", tmp_path / "exercise-7.zh.md"]
    assert workspace.texts(SEVEN) == copies
    assert "(exercise-7.zh.md)" in copies[0].read_text("utf-8")
    assert "(exercise-7.md)" in copies[1].read_text("utf-8")
    assert all("](README" not in copy.read_text("utf-8") for copy in copies)
