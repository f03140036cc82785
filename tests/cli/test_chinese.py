"""With ``--lang zh`` no English is left: the help of every command, and what comes of common mistakes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.cells import cell_len
from typer.main import get_command

from minisgl_tutor.cli.caller import Caller
from minisgl_tutor.cli.main import app, main
from minisgl_tutor.language import VARIABLE, Tongue
from minisgl_tutor.server.processes import launch

from ..language.english import english_left

CUT = re.compile("(?<![a-z-])…|[\x1f\ue000]")
"""Text that a line had no room for, names apart; a mark where it may be broken."""

NOWHERE = "http://127.0.0.1:1"


def paths(command: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """How each command is called."""
    yield path
    for name, below in getattr(command, "commands", {}).items():
        yield from paths(below, (*path, name))


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, object]:
    with pytest.raises(SystemExit) as ended:
        main(["--lang", "zh", *arguments])
    out, err = capsys.readouterr()
    return out + err, ended.value.code


@pytest.mark.parametrize("columns", ["80", "200"])
@pytest.mark.parametrize("path", list(paths(get_command(app))), ids=" ".join)
def test_help(
    path: tuple[str, ...], columns: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    text, status = run(capsys, *path, "--help")
    assert status == 0
    assert english_left(text) == []
    assert "用法：" in text and "选项" in text
    assert not {"Usage", "Options", "Arguments", "[default", "[required"} & set(text.split())
    assert not CUT.search(text)


def test_help_has_the_same_options_in_both_languages(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    chinese, _ = run(capsys, "serve", "--help")
    english, _ = run(capsys, "--lang", "en", "serve", "--help")
    listed = [
        [line.split()[1] for line in text.splitlines() if "│ --" in line] for text in (chinese, english)
    ]
    assert len(listed[0]) > 40
    assert listed[0] == listed[1]


def test_without_arguments_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    text, _ = run(capsys)
    assert "用法：" in text
    assert english_left(text) == []


MISTAKES = [
    "bogus",
    "serv",
    "start",
    "start a b",
    "start no-such-exercise",
    "read 99",
    "read many",
    "serve --prot 1",
    "serve --xyz",
    "serve --port",
    "serve --port x",
    "serve --port 70000",
    "serve --port 99999999999999999999999999999999999",
    "serve --memory-ratio x",
    "serve --memory-ratio nan",
    "serve --page-size 0",
    "serve --dtype int3",
    "serve --overlap=3",
    "serve --device tpu",
    "serve --attn many",
    "serve --attn fi,sdpa,fi",
    "serve --gap nonsense",
    "serve --record /nowhere/x",
    "serve --record-messages",
    "serve --record-max-bytes 3",
    "serve --record {tmp}/x --record-rotate 3",
    "serve --record {tmp}/x --redact --record-messages",
    "serve --profile /nowhere/x",
    "serve --allow-origin localhost",
    "serve --api-key",
    "serve --api-key=",
    "serve --api-key=ä",
    "serve --model /nowhere/x",
    "serve --model {tmp}",
    "serve --model {tmp}/a.txt",
    "serve --host no.such.host.invalid",
    "serve --host 192.0.2.1",
    "serve --tp 3",
    f"chat --url {NOWHERE} hello",
    "chat --url nonsense hello",
    "chat --port 3",
    "chat a b",
    f"top --once --url {NOWHERE}",
    "top --port 3",
    "bench",
    "bench nonsense",
    f"bench serve --url {NOWHERE}",
    f"bench serve --url {NOWHERE} --model m",
    "bench serve --url nonsense",
    "bench serve --port 3",
    "bench serve --recording /nowhere/x",
    "bench serve --recording {tmp}/a.txt",
    "bench serve --recording x --requests 3",
    "bench serve --rate 1 --concurrency 2",
    "bench serve --input 9-3",
    "bench serve --input many",
    "bench serve --tokenizer /nowhere/x",
    "bench serve --plot x.gif",
    "bench offline --device tpu",
    "bench offline --out /nowhere/x",
    "bench offline --runs 0",
    "language fr",
]


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake(
    line: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(launch, "configure_logging", lambda level: None)  # pytest's own stays
    (tmp_path / "a.txt").write_text("{}\n")
    text, status = run(capsys, *line.format(tmp=tmp_path).split())
    assert status in (1, 2)
    assert english_left(text) == []
    assert "错误：" in text or "用法：" in text


def test_an_unexpected_error(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("the moon")

    monkeypatch.setattr("minisgl_tutor.cli.main.app", broken)
    text, status = run(capsys, "doctor")
    assert status == 1
    assert text.startswith("错误：不该发生这种情况（ValueError: the moon）")


def test_a_language_that_is_none(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "zh")
    with pytest.raises(SystemExit) as ended:
        main(["--lang", "fr", "gaps"])
    assert ended.value.code == 2
    assert capsys.readouterr().err == "错误：--lang 只能是 en 或 zh，不能是 'fr'\n"


@pytest.mark.parametrize("begun", ["", "-"], ids=["commands", "options"])
@pytest.mark.parametrize("path", list(paths(get_command(app))), ids=" ".join)
def test_a_shell_shows_help_in_chinese_beside_what_it_completes(path: tuple[str, ...], begun: str) -> None:
    """In a line each, of a terminal of 80 columns."""
    command: Any = get_command(app)
    context = typer.Context(command, obj=Caller(Tongue("zh")))
    for name in path:
        command = command.commands[name]
        context = typer.Context(command, parent=context, info_name=name)
    told = [item.help for item in command.shell_complete(context, begun) if item.help]
    assert told or not begun
    assert english_left("\n".join(told)) == []
    assert all(cell_len(each) < 80 for each in told)
