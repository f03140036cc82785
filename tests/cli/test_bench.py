"""``bench`` as a user types it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from minisgl_tutor.cli.main import main


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "minisgl_tutor", "bench", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_a_model_that_is_not_there_is_one_sentence() -> None:
    ended = bench("offline", "--model", "./no-such-model", "--device", "cpu")
    assert ended.returncode == 1
    assert ended.stderr.startswith("Error: There is no file or directory ./no-such-model")
    assert ended.stderr.count("\n") == 1
    assert not ended.stdout


def test_a_light_install_is_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("minisgl_tutor.cli.install.find_spec", lambda name: None)
    with pytest.raises(SystemExit) as ended:
        main(["bench", "offline"])
    assert ended.value.code == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("Error: generating text needs torch, which is not installed; run: ")


def test_without_a_gpu_it_generates_on_the_cpu() -> None:
    sizes = ("--sequences", "1", "--max-input", "100", "--max-output", "100", "--runs", "1")
    ended = bench("offline", *sizes)
    assert ended.returncode == 0, ended.stderr
    assert "median" in ended.stdout


def test_without_a_benchmark_it_lists_them() -> None:
    ended = bench()
    assert "offline" in ended.stdout + ended.stderr
