"""What a server is made of, seen where the parent starts its parts (claims part A)."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minisgl_tutor.resources import model_dir
from minisgl_tutor.server.config import ServerArgs
from minisgl_tutor.server.processes import api_process, launch
from minisgl_tutor.server.workers.addresses import Addresses
from minisgl_tutor.server.workers.errors import StartError
from minisgl_tutor.tokenizer.server import tokenize_worker


class Started:
    """Stands in for ``Children``: remembers whom it was to start."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.silent: list[str] = []
        self.targets: list[Callable[..., None]] = []
        self.args: list[tuple[Any, ...]] = []

    def start(self, name: str, target: Callable[..., None], *args: Any) -> None:
        self.names.append(name)
        self.targets.append(target)
        self.args.append(args)

    def start_silent(self, name: str, target: Callable[..., None], *args: Any) -> None:
        self.silent.append(name)
        self.start(name, target, *args)


@pytest.fixture
def model(tmp_path: Path) -> str:
    (tmp_path / "config.json").write_text("{}")
    return str(tmp_path)


def entered(monkeypatch: pytest.MonkeyPatch, args: ServerArgs, run_shell: bool = False) -> Any:
    """How ``launch_server`` enters ``run_api_server``."""
    calls: list[inspect.BoundArguments] = []
    signature = inspect.signature(api_process.run_api_server)

    def run_api_server(*given: Any, **named: Any) -> int:
        calls.append(signature.bind(*given, **named))
        return 7

    monkeypatch.setattr(api_process, "run_api_server", run_api_server)
    assert launch.launch_server(args, run_shell=run_shell) == 7
    (call,) = calls
    return call.arguments


def test_the_parent_hands_over_arguments_starter_and_shell(
    monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    """(C2.16)"""
    parameters = list(inspect.signature(api_process.run_api_server).parameters)
    assert parameters[:3] == ["server_args", "start_subprocess", "run_shell"]
    args = ServerArgs(model=model, port=0)
    call = entered(monkeypatch, args, run_shell=True)
    assert call["server_args"] == args
    assert call["run_shell"] is True


@pytest.mark.parametrize("num_tokenizer", [0, 1, 4])
def test_schedulers_then_detokenizer_then_tokenizers(
    monkeypatch: pytest.MonkeyPatch, model: str, num_tokenizer: int
) -> None:
    """(C2.4, C2.6 to C2.9, C2.14, C2.15)"""
    call = entered(monkeypatch, ServerArgs(model=model, port=0, num_tokenizer=num_tokenizer))
    started, addresses = Started(), Addresses.within(Path("/tmp/x"), num_tokenizer)
    call["start_subprocess"](started, addresses)
    tokenizers = [f"minisgl-tokenizer-{i}" for i in range(num_tokenizer)]
    assert started.names == ["minisgl-TP0-scheduler", "minisgl-detokenizer-0", *tokenizers]
    assert started.targets[0] is launch._run_scheduler
    assert started.silent == []
    assert set(started.targets[1:]) == {tokenize_worker}
    listens = [args[0] for args in started.args[1:]]
    assert listens == [addresses.detokenizer, *addresses.tokenizers][: 1 + num_tokenizer]


def test_each_rank_has_a_scheduler_and_one_of_them_reports(
    monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    """(C2.6, C2.10, C2.14, C2.21)"""
    config = json.loads((model_dir() / "config.json").read_text())
    (Path(model) / "config.json").write_text(json.dumps({**config, "num_attention_heads": 6}))
    call = entered(monkeypatch, ServerArgs(model=model, port=0, tp=3))
    started = Started()
    call["start_subprocess"](started, Addresses.within(Path("/tmp/x"), 1))
    assert started.names[:4] == [
        *(f"minisgl-TP{rank}-scheduler" for rank in range(3)),
        "minisgl-detokenizer-0",
    ]
    assert started.silent == ["minisgl-TP1-scheduler", "minisgl-TP2-scheduler"]
    assert started.targets[:3] == [launch._run_scheduler, launch._run_follower, launch._run_follower]
    seats = [args[2] for args in started.args[:3]]
    assert [(seat.rank, seat.size, seat.local_rank, seat.meeting) for seat in seats] == [
        (rank, 3, rank, "/tmp/x/meeting") for rank in range(3)
    ]
    with pytest.raises(StartError, match="--tp 4 does not divide the model's 6 attention heads"):
        launch.launch_server(ServerArgs(model=model, port=0, tp=4))


def test_a_file_that_is_no_model_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("hello")
    with pytest.raises(StartError, match=r"notes\.txt is a file but not a \*\.gguf one"):
        launch.launch_server(ServerArgs(model=str(file), port=0))


def test_a_recording_that_cannot_be_written_is_one_sentence(model: str) -> None:
    with pytest.raises(StartError, match="--record"):
        launch.launch_server(ServerArgs(model=model, port=0, record="/nowhere/at/all"))
