"""``bench serve``: what a user gets wrong is one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from minisgl_tutor.cli.main import main
from minisgl_tutor.recording import VERSION, Header, Recording

REFUSING = "http://127.0.0.1:1"


def bench(*arguments: str) -> object:
    with pytest.raises(SystemExit) as ended:
        main(["bench", "serve", *arguments])
    return ended.value.code


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["--url", REFUSING], f"no server answers at {REFUSING} (Connection refused); give another --url"),
        (["--url", REFUSING, "--model", "m"], f"{REFUSING} fails in the warm-up: no connection"),
        (["--url", "nonsense"], "'nonsense' is not an address"),
        (["--recording", "none.jsonl"], "none.jsonl cannot be read"),
        (["--tokenizer", "none"], "none"),
    ],
)
def test_what_cannot_be_measured_is_one_sentence(
    capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert bench(*arguments) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("Error: ") and sentence in line


@pytest.mark.parametrize(
    "arguments, option",
    [
        (["--rate", "2", "--concurrency", "3"], "--concurrency"),
        (["--recording", "x", "--requests", "3"], "--recording"),
        (["--input", "many"], "--input"),
        (["--input", "9-3"], "--input"),
        (["--plot", "x.gif"], "--plot"),
    ],
)
def test_options_that_do_not_go_together(
    capsys: pytest.CaptureFixture[str], arguments: list[str], option: str
) -> None:
    assert bench("--url", REFUSING, *arguments) == 2
    assert option in capsys.readouterr().err


def test_a_recording_without_a_request_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header = Header(VERSION, None, "tiny", 16, 10, 4, 100, 50, 64, "radix", True, 1, 64, [0])
    Recording(header, []).write(tmp_path / "empty.jsonl")
    assert bench("--url", REFUSING, "--recording", str(tmp_path / "empty.jsonl")) == 1
    assert "has no request for an answer" in capsys.readouterr().err


@pytest.mark.parametrize("missing, arguments", [("aiohttp", []), ("matplotlib", ["--plot", "run.png"])])
def test_a_light_install_is_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    missing: str,
    arguments: list[str],
) -> None:
    monkeypatch.setattr(
        "minisgl_tutor.cli.install.find_spec", lambda name: None if name == missing else object()
    )
    assert bench(*arguments) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert f"needs {missing}, which is not installed; run: " in line
    assert "[bench]" in line
