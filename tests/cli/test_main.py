from __future__ import annotations

import subprocess
import sys

import pytest

from minisgl_tutor import __version__
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
