"""What the commands about exercises say to a reader of Chinese."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from minisgl_tutor.cli.main import main
from minisgl_tutor.exercises.workspace import NAME
from tests.language.english import english_left


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "argv", ["/opt/tutor/bin/minisgl-tutor"])


def chinese(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit):
        main([*arguments, "--lang", "zh"])
    captured = capsys.readouterr()
    text = captured.out + captured.err
    assert english_left(text) == []
    return text


COMMANDS = {
    "exercises": "共 27 题，正确 0 题。",
    "exercises --chapter 9": "错误：第 '9' 章没有练习；有练习的章：2, 5, 5c",
    "start 7": "exercise-7.py 归你了。任务：不论请求怎样结束，都不留下任何东西。",
    "start nope": "错误：没有名为 'nope' 的练习；现有：2.1, ",
    "hint 7": "提示 1/3：",
    "solution 7": "错误：exercise-7 还没有通过。先通过它，或者加上 --give-up。",
    "diff 7": "错误：还没有 minisgl-exercises/exercise-7.py；",
    "check": "错误：请给出一个或几个练习，或者用 --all、--chapter",
    "check --all": "错误：这些练习都还没有开始；",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command(capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert COMMANDS[command] in chinese(capsys, *command.split())


def test_what_is_begun_and_put_back(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    chinese(capsys, "start", "7")
    assert "已经存在，保持原样。" in chinese(capsys, "start", "7")
    assert "还是起始代码，没有改动。" in chinese(capsys, "diff", "7")
    (tmp_path / NAME / "exercise-7.py").write_text("")
    assert "没有 FrontendManager 的子类" in chinese(capsys, "check", "7")
    assert "原来的内容保存为" in chinese(capsys, "reset", "7")
    assert "本来就是起始代码。" in chinese(capsys, "reset", "7")


def test_what_was_begun_in_english_is_known_as_the_starter(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with pytest.raises(SystemExit):
        main(["start", "7", "--lang", "en"])
    capsys.readouterr()
    assert "还是起始代码，没有改动。" in chinese(capsys, "diff", "7")
    chinese(capsys, "reset", "7")
    assert "练习 7" in (tmp_path / NAME / "exercise-7.py").read_text("utf-8")


@pytest.mark.parametrize("command", ["exercises", "hint 7"])
def test_a_damaged_progress_file(capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str) -> None:
    progress = tmp_path / NAME / ".progress.json"
    progress.parent.mkdir()
    progress.write_text("{")
    assert "进度文件已损坏，改名保存为" in chinese(capsys, *command.split())
    assert progress.with_suffix(".damaged").read_text() == "{"
