from __future__ import annotations

import json
import socket
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from minisgl_tutor.cli import checks
from minisgl_tutor.cli.checks import FOR_ALL, FOR_GPU, FOR_NOTHING, FOR_SERVING, FOR_STUDY, Finding
from minisgl_tutor.cli.main import main


def doctor(monkeypatch: pytest.MonkeyPatch, *findings: Finding) -> object:
    monkeypatch.setattr(checks, "examine", lambda: iter(findings))
    with pytest.raises(SystemExit) as ended:
        main(["doctor"])
    return ended.value.code


FINE = Finding("Python", "3.12", True, FOR_ALL)


def test_a_missing_gpu_or_a_taken_port_is_no_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gpu = Finding("nvcc", "not found", False, FOR_GPU, "install it")
    port = Finding("port", "taken", False, FOR_NOTHING, "take another")
    assert doctor(monkeypatch, FINE, gpu, port) == 0
    shown = capsys.readouterr().out
    assert "install it" in shown
    assert "take another" in shown
    assert shown.splitlines()[-3:] == [
        "trace and check: ready",
        "serve: ready",
        "serve on a GPU: needs nvcc",
    ]


@pytest.mark.parametrize("needed_by", [FOR_ALL, FOR_STUDY, FOR_SERVING])
def test_anything_else_that_lacks_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], needed_by: tuple[str, ...]
) -> None:
    assert doctor(monkeypatch, FINE, Finding("cheese", "none", False, needed_by, "buy some")) == 1
    shown = capsys.readouterr().out
    assert [f"{command}: needs cheese" in shown for command in FOR_ALL] == [c in needed_by for c in FOR_ALL]


def test_the_packages_are_those_of_the_metadata() -> None:
    assert {"fastapi", "httpx", "msgspec", "numpy", "pyzmq", "rich", "typer"} <= set(checks.required(""))
    assert "torch" in checks.required("engine")
    assert "torch" not in checks.required("")
    assert {"flashinfer-python", "torch"} <= set(checks.required("gpu"))


def test_a_missing_package_comes_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name == "torch":
            raise metadata.PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(metadata, "version", version)
    finding = checks.packages("engine", "engine packages", FOR_SERVING)
    assert (finding.found, finding.fine) == ("missing: torch", False)
    assert finding.remedy == "pip install 'minisgl-tutor[engine]'"
    assert checks.packages("", "light packages", FOR_ALL).fine


def test_the_sockets_are_tried() -> None:
    assert checks.sockets().fine


def test_a_taken_port_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        monkeypatch.setattr(checks, "DEFAULT_PORT", other.getsockname()[1])
        assert not checks.port().fine
    assert checks.port().fine


def tensors(file: Path, missing: int = 0) -> None:
    header = json.dumps({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    file.write_bytes(len(header).to_bytes(8, "little") + header + bytes(8 - missing))


def test_weights_must_be_whole(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    tensors(file)
    assert checks.safetensors_size(file) == file.stat().st_size
    tensors(file, missing=1)
    with pytest.raises(ValueError, match="incomplete"):
        checks.safetensors_size(file)
    file.write_bytes(b"\xff" * 64)
    with pytest.raises(ValueError, match="damaged"):
        checks.safetensors_size(file)


def test_a_missing_model_is_a_finding(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(checks, "model_dir", lambda: tmp_path)
    finding = checks.shipped_model()
    assert not finding.fine
    assert "--model" in finding.remedy


def test_the_shipped_model_and_the_chapters_are_found() -> None:
    assert checks.shipped_model().fine
    assert checks.chapters().fine


def test_a_torch_that_does_not_import_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "TORCH_PROBE", "raise ImportError('no such library')")
    (finding,) = checks.torch_build()
    assert (finding.fine, finding.found) == (False, "ImportError: no such library")


def test_a_tool_that_is_not_there_is_a_finding() -> None:
    finding = checks.tool("no-such-tool", [], "the tool")
    assert (finding.fine, finding.remedy) == (False, "install the tool")


def test_doctor_looks_at_torch_without_importing_it() -> None:
    program = (
        "import sys\nfrom minisgl_tutor.cli.checks import examine\n"
        "found = {finding.what: finding.fine for finding in examine()}\n"
        "assert 'torch' in found and found['Python']\n"
        "assert 'torch' not in sys.modules and 'transformers' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
