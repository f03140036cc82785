from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from minisgl_tutor import __version__
from minisgl_tutor.__main__ import run
from minisgl_tutor.cli import main as main_module
from minisgl_tutor.cli.main import main


def status_of(*arguments: str) -> object:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return ended.value.code


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of("--version") == 0
    assert capsys.readouterr().out == f"minisgl-tutor {__version__}\n"


def test_help_names_the_commands_and_imports_nothing_heavy() -> None:
    """Help comes in a fraction of a second, since a command imports what it needs only when it runs."""
    program = (
        "import sys\nfrom minisgl_tutor.cli.main import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'torch', 'transformers', 'fastapi', 'zmq', 'numpy', 'httpx'} & set(sys.modules)\n"
        "print('imported:', *sorted(heavy))"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    for command in ("serve", "chat", "trace", "exercises", "start", "check", "doctor"):
        assert f" {command} " in shown
    assert shown.splitlines()[-1] == "imported:"


def test_a_paragraph_of_help_flows_over_the_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    assert status_of("serve", "--help") == 0
    assert "get an error event, and the exit status is 0. SIGTERM" in capsys.readouterr().out


def test_options_alone_are_those_of_serve(capsys: pytest.CaptureFixture[str]) -> None:
    """``python -m minisgl_tutor --model X`` serves (C2.1)."""
    assert status_of("--port", "1000000") == 2
    assert "serve" in capsys.readouterr().err
    assert status_of("--gap=nonsense") == 2
    assert "early-break" in capsys.readouterr().err


def test_without_arguments_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    status_of()
    assert "serve" in capsys.readouterr().out


def broken(*_: object, **__: object) -> None:
    raise ValueError("the moon\nis down")


def test_an_unexpected_error_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(main_module, "app", broken)
    assert status_of("doctor") == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "ValueError: the moon is down" in line
    assert "--verbose" in line


def test_verbose_shows_all_of_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(main_module, "app", broken)
    assert status_of("doctor", "--verbose") == 1
    assert "Traceback" in capsys.readouterr().err


def test_ctrl_c_while_the_program_is_being_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(ModuleType):
        @property
        def main(self) -> object:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "minisgl_tutor.cli.main", Interrupted("minisgl_tutor.cli.main"))
    with pytest.raises(SystemExit) as ended:
        run()
    assert ended.value.code == 130


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_told_as_such(
    number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(number, "no room")

    monkeypatch.setattr(main_module, "app", full)
    assert status_of("trace") == 1
    assert capsys.readouterr().err.splitlines() == [
        "Error: nothing more can be written (no room); make room and run it again"
    ]


def test_a_folder_that_is_gone_is_told_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert status_of("exercises") == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "the current folder is not there any more" in line


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_closed_output_is_no_error(stream: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, stream, None)
    assert status_of("trace", "--chapter", "2", "--json" if stream == "stdout" else "--fixed") == 0
    getattr(sys, stream).close()
