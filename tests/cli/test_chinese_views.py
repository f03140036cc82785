"""What bench, top, doctor and a server that is ready show in Chinese: no English, and the same figures."""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Callable
from pathlib import Path

import pytest

from minisgl_tutor.bench.answer import Answer, Counts, RequestFailed
from minisgl_tutor.bench.asks import Ask
from minisgl_tutor.bench.figures import figures, first_failures
from minisgl_tutor.cli import checks
from minisgl_tutor.cli.bench_table import print_result
from minisgl_tutor.cli.main import main
from minisgl_tutor.cli.profile_table import tell_profile
from minisgl_tutor.cli.top_view import lines
from minisgl_tutor.language import ENGLISH, Sentence, Tongue
from minisgl_tutor.profiling.chrome import TraceFile
from minisgl_tutor.profiling.timeline import Span
from minisgl_tutor.server.operations.audit import ComponentHeld, Holding, Report, RequestHeld
from minisgl_tutor.server.processes import announce

from ..language.english import english_left

CHINESE = Tongue("zh")
MS = 1_000_000

Show = Callable[[Tongue], str]


def numbers(text: str) -> list[str]:
    """In any order: a sentence may name them otherwise in another language."""
    return sorted(re.findall(r"\d+(?:[.,]\d+)*", text))


def check(show: Show) -> None:
    english, chinese = show(ENGLISH), show(CHINESE)
    assert english_left(chinese) == []
    assert english != chinese
    assert numbers(english) == numbers(chinese)


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def answered(said: int | None, asked: int | None = None, late: float = 0.0) -> Answer:
    usage = None if said is None else Counts(prompt_tokens=7, completion_tokens=said)
    ask = Ask(0.0, "/v1/completions", {}, asked)
    return Answer(ask, late, 3.0, array("d", [1.0, 2.0]), usage, "length", True)


def failed(failure: RequestFailed) -> Answer:
    return Answer(Ask(0.0, "/v1/completions", {}, None), 0.0, 3.0, array("d"), failure=failure)


def test_figures_of_a_load(capsys: pytest.CaptureFixture[str]) -> None:
    loads = [
        [answered(5, asked=9, late=0.5), answered(None)],
        [answered(9), failed(RequestFailed("timeout", Sentence("no end within {seconds:g} s", seconds=4)))],
        [failed(RequestFailed("no connection", "x")), failed(RequestFailed("error event"))],
    ]
    for answers in loads:
        result = figures(answers, client_cpu_s=2.9, timed=True)
        result |= {"model": "tiny", "options": {"url": "http://x"}}

        def show(say: Tongue, result: dict[str, object] = result, answers: list[Answer] = answers) -> str:
            print_result(result, first_failures(answers), say)
            return capsys.readouterr().out

        check(show)


@pytest.mark.parametrize("hid", [0, 2 * MS])
def test_a_profile(hid: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = TraceFile(tmp_path / "p.json")
    for span in (
        Span("receive", 0, 1 * MS, 0),
        Span("launch", 1 * MS, 4 * MS, 0, hid_ns=hid),
        Span("wait", 4 * MS, 9 * MS, 0),
    ):
        file.write(span)
    file.close()

    def show(say: Tongue) -> str:
        tell_profile(tmp_path / "p.json", say)
        return capsys.readouterr().err

    check(show)


def test_a_report_of_what_is_held() -> None:
    leak = RequestHeld(3, "ended", 7000.0, 61.5, True, [Holding("api", "ack_map", 2, 70.0)])
    runs = RequestHeld(4, "running", 2.0, None, False, [Holding("tok", "x", 9, 1.0)])
    components = [ComponentHeld("api", 1, 0.0, 0.0), ComponentHeld("tok", 2, 0.5, 4)]
    check(lambda say: "\n".join(lines(Report("tiny", 3, 1, components, [leak, runs]), say)))
    check(lambda say: "\n".join(lines(Report("tiny", 0, 0, components, []), say)))


def test_a_look_at_the_installation(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(checks, "TORCH_PROBE", f"print({json.dumps(json.dumps(['2.0', '12.9', []]))})")
    monkeypatch.setattr(checks, "has_driver", lambda: True)
    monkeypatch.setattr(checks, "model_dir", lambda: tmp_path)

    def show(say: Tongue) -> str:
        with pytest.raises(SystemExit) as ended:
            main(["doctor", "--lang", say.language])
        assert ended.value.code == 1
        return capsys.readouterr().out

    check(show)


@pytest.mark.parametrize(
    "sentence",
    [
        announce.ready_line("http://x", "tiny"),
        announce.gaps_line(("early-break",), "me"),
        announce.top_line("http://127.0.0.1:1919", "me"),
        announce.usage("http://127.0.0.1:1919", "tiny", "me"),
    ],
    ids=lambda sentence: sentence.text[:20],
)
def test_a_server_that_is_ready(sentence: Sentence) -> None:
    check(lambda say: say(sentence))
