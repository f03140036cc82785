"""The options of ``serve``: what they become, and how a wrong one is refused."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path

import pytest

from minisgl_tutor.cli.install import install_command
from minisgl_tutor.cli.main import main
from minisgl_tutor.cli.program import program
from minisgl_tutor.cli.serve import serve as command
from minisgl_tutor.gaps import REFERENCE
from minisgl_tutor.language import Tongue
from minisgl_tutor.server.config import Limits, SchedulerConfig, ServerArgs
from minisgl_tutor.server.processes import launch
from minisgl_tutor.server.workers.errors import StartError


class Launches:
    """Stands in for the server: remembers what it was asked to be."""

    def __init__(self) -> None:
        self.args: list[ServerArgs] = []
        self.shells: list[bool] = []
        self.failure: StartError | None = None
        self.status = 7

    def __call__(self, server_args: ServerArgs, run_shell: bool, program: str, say: Tongue) -> int:
        if self.failure is not None:
            raise self.failure
        self.args.append(server_args)
        self.shells.append(run_shell)
        if server_args.record is not None:
            Path(server_args.record).write_text("a line\n")
        return self.status


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> Launches:
    fake = Launches()
    monkeypatch.setattr("minisgl_tutor.cli.install.find_spec", lambda name: name)
    monkeypatch.setattr(launch, "launch_server", fake)
    return fake


def serve(*arguments: str) -> object:
    with pytest.raises(SystemExit) as ended:
        main(["serve", *arguments])
    return ended.value.code


def test_without_options_every_value_is_that_of_server_args(launches: Launches) -> None:
    assert serve() == 7  # the server's own exit status
    assert launches.args == [ServerArgs()]
    assert launches.shells == [False]


def test_every_option_reaches_the_server(launches: Launches, tmp_path: Path) -> None:
    record = tmp_path / "run.jsonl"
    options = (
        "--model some/model --model-source modelscope --kv-cache-dtype fp8 "
        "--host 0.0.0.0 --port 0 --num-tokenizer 4 --device cuda:1 --dtype float32 "
        "--dummy-weight --threads 3 --page-size 1 --num-pages 9 --max-running-requests 5 --max-seq-len 99 "
        "--backlog-limit 8 --step-ms 2 --prefill-budget 64 --cache naive --admission reserve --no-overlap "
        f"--seed 11 --gap late-abort --gap early-break --record {record} --record-messages "
        "--log-level error --shell --backlog-bytes 7 --max-body-bytes 1 --max-bodies-bytes 13 "
        "--body-timeout 2 --max-prompt-chars 3 --max-waiting 0 --first-token-timeout 5 --request-timeout 6 "
        "--idle-timeout 7.5 --write-timeout 8 --shutdown-timeout 0 --hung-after 10 --stuck-after 11 "
        "--debug-endpoints --api-key sk-1 --allow-origin http://a --allow-origin http://b"
    )
    serve(*options.split())
    assert launches.args == [
        ServerArgs(
            model="some/model",
            model_source="modelscope",
            kv_cache_dtype="fp8",
            host="0.0.0.0",
            port=0,
            num_tokenizer=4,
            device="cuda:1",
            dtype="float32",
            dummy_weight=True,
            threads=3,
            page_size=1,
            num_pages=9,
            max_running_req=5,
            max_seq_len=99,
            backlog_limit=8,
            backlog_bytes=7,
            limits=Limits(1, 13, 2, 3, 0, 5, 6, 7.5, 8, 0, 10, 11),
            api_key="sk-1",
            allow_origins=("http://a", "http://b"),
            step_ms=2,
            debug_endpoints=True,
            scheduler=SchedulerConfig(
                prefill_budget=64, cache="naive", overlap=False, seed=11, admission="reserve"
            ),
            gaps=("early-break", "late-abort"),
            record=str(record),
            record_messages=True,
            log_level="error",
        )
    ]
    assert launches.shells == [True]


@pytest.mark.parametrize("kind", [ServerArgs, Limits, SchedulerConfig])
def test_what_makes_a_server_has_an_option(kind: type[ServerArgs | Limits | SchedulerConfig]) -> None:
    """One of its name; but for some that are made of others, or are for nobody to choose."""
    without = {"limits", "scheduler", "gaps", "allow_origins", "grace", "head_room"}
    names = {each.name for each in fields(kind)}
    assert names - without <= inspect.signature(command).parameters.keys()


def test_the_key_may_come_from_the_environment_and_is_not_shown(
    launches: Launches, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINISGL_TUTOR_API_KEY", "sk-2")
    serve()
    monkeypatch.setenv("MINISGL_TUTOR_API_KEY", "")
    serve()
    assert [args.api_key for args in launches.args] == ["sk-2", None]
    assert "sk-2" not in repr(launches.args[0])


def test_reference_stands_for_all_gaps(launches: Launches) -> None:
    serve("--gap", "reference")
    assert launches.args[0].gaps == REFERENCE


def test_a_chat_is_not_interrupted_by_the_access_log(launches: Launches) -> None:
    serve("--shell")
    assert launches.args[0].log_level == "warning"


def test_verbose_anywhere_means_the_debug_log(launches: Launches) -> None:
    serve("--port", "0", "--verbose")
    assert launches.args[0].log_level == "debug"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--port", "65536"],
        ["--port", "many"],
        ["--num-tokenizer", "-1"],
        ["--threads", "0"],
        ["--page-size", "0"],
        ["--num-pages", "0"],
        ["--max-running-req", "0"],
        ["--max-seq-len", "1"],
        ["--prefill-budget", "0"],
        ["--cache", "redis"],
        ["--dtype", "int1"],
        ["--gap", "yawning"],
        ["--record", "/nowhere/at/all.jsonl"],
        ["--log-level", "poem"],
        ["--max-waiting", "-1"],
        ["--request-timeout", "0"],
        ["--request-timeout", "nan"],
        ["--api-key", "a b"],
        ["--api-key", ""],
        ["--allow-origin", "localhost:3000"],
        ["--allow-origin", "http://localhost:3000/"],
        ["--unheard-of"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_wrong_value_is_refused_by_the_name_of_its_option(
    launches: Launches, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert serve(*arguments) == 2
    assert arguments[0] in capsys.readouterr().err
    assert not launches.args


def test_a_server_that_cannot_start_is_one_sentence(
    launches: Launches, capsys: pytest.CaptureFixture[str]
) -> None:
    launches.failure = StartError("the sky is full; give another")
    assert serve() == 1
    assert capsys.readouterr().err == "Error: the sky is full; give another\n"


@pytest.mark.parametrize("status, said", [(0, "\nstopped\n"), (130, "\nstopped\n"), (1, "")])
def test_after_a_stop_the_prompt_stands_on_a_line_of_its_own(
    launches: Launches, capsys: pytest.CaptureFixture[str], status: int, said: str
) -> None:
    launches.status = status
    assert serve() == status
    assert capsys.readouterr().err == said


def test_a_recording_comes_with_the_command_that_plays_it(
    launches: Launches, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "a run.jsonl"
    serve("--record", str(file))
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == f"{file}: play it with `{program()} trace '{file}'`"


def test_a_light_install_is_told_how_to_serve(
    launches: Launches, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("minisgl_tutor.cli.install.find_spec", lambda name: None)
    assert serve() == 1
    assert capsys.readouterr().err.endswith(f"; run: {install_command('engine')}\n")
