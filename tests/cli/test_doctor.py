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
from minisgl_tutor.cli.install import install_command
from minisgl_tutor.cli.main import main
from minisgl_tutor.language import Sentence


def doctor(monkeypatch: pytest.MonkeyPatch, *findings: Finding) -> object:
    monkeypatch.setattr(checks, "examine", lambda: iter(findings))
    with pytest.raises(SystemExit) as ended:
        main(["doctor"])
    return ended.value.code


def finding(
    what: str, found: str, fine: bool, needed_by: tuple[Sentence, ...], remedy: str | None = None
) -> Finding:
    advice = None if remedy is None else checks.as_is(remedy)
    return Finding(checks.as_is(what), checks.as_is(found), fine, needed_by, advice)


FINE = finding("Python", "3.12", True, FOR_ALL)


def test_a_missing_gpu_or_a_taken_port_is_no_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gpu = finding("nvcc", "not found", False, FOR_GPU, "install it")
    port = finding("port", "taken", False, FOR_NOTHING, "take another")
    assert doctor(monkeypatch, FINE, gpu, port) == 0
    shown = capsys.readouterr().out
    assert "install it" in shown
    assert "take another" in shown
    assert shown.splitlines()[-3:] == [
        "trace and check: ready",
        "serve: ready",
        "serve on a GPU: needs nvcc",
    ]


def test_a_command_to_copy_is_not_cut_by_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    command = f"{'/folder' * 12}/python -m pip install -c constraints.txt -e '.[engine]'"
    doctor(monkeypatch, FINE, finding("engine packages", "missing: torch", False, FOR_SERVING, command))
    assert f"engine packages: {command}" in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("needed_by", [FOR_ALL, FOR_STUDY, FOR_SERVING])
def test_anything_else_that_lacks_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], needed_by: tuple[Sentence, ...]
) -> None:
    assert doctor(monkeypatch, FINE, finding("cheese", "none", False, needed_by, "buy some")) == 1
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
    found = checks.packages(Sentence("some"), ["torch", "gguf"], "engine", FOR_SERVING)
    assert (str(found.found), found.fine) == ("missing: torch", False)
    assert str(found.remedy) == install_command("engine")
    assert checks.packages(Sentence("some"), ["rich"], "", FOR_ALL).fine


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
    found = checks.shipped_model()
    assert not found.fine
    assert "--model" in str(found.remedy)


def test_the_shipped_model_and_the_chapters_are_found() -> None:
    assert checks.shipped_model().fine
    assert checks.chapters().fine


def test_a_torch_that_does_not_import_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "TORCH_PROBE", "raise ImportError('no such library')")
    torch, gpus = checks.torch_build()
    assert (torch.fine, str(torch.found)) == (False, "ImportError: no such library")
    assert gpus is None


def probe(monkeypatch: pytest.MonkeyPatch, cuda: str | None, *gpus: str, driver: bool = False) -> None:
    """A machine with such a torch, and with or without the driver."""
    monkeypatch.setattr(checks, "TORCH_PROBE", f"print({json.dumps(json.dumps(['2.0', cuda, gpus]))})")
    monkeypatch.setattr(checks, "has_driver", lambda: driver)


def test_without_anything_of_a_gpu_there_is_one_row_about_it(monkeypatch: pytest.MonkeyPatch) -> None:
    probe(monkeypatch, None)
    last = list(checks.examine())[-1]
    assert (str(last.what), str(last.found)) == ("GPU", "none (only `serve` on a GPU needs one)")
    assert not last.fine
    assert not last.remedy
    assert [str(each.what) for each in checks.examine() if each.needed_by == FOR_GPU] == ["GPU"]


@pytest.mark.parametrize("cuda, gpus, driver", [("12.9", ["H"], True), ("12.9", [], False), (None, [], True)])
def test_a_driver_or_a_cuda_build_bring_the_rows_about_gpus(
    monkeypatch: pytest.MonkeyPatch, cuda: str | None, gpus: list[str], driver: bool
) -> None:
    probe(monkeypatch, cuda, *gpus, driver=driver)
    rows = {str(each.what): each for each in checks.examine() if each.needed_by == FOR_GPU}
    assert list(rows) == ["GPUs that torch can use", "GPU packages", "nvidia-smi", "nvcc"]
    assert rows["GPUs that torch can use"].fine == bool(gpus)


def test_what_is_missing_is_missing_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(checks, "find_spec", lambda name: None)
    monkeypatch.setattr(checks, "has_driver", lambda: True)
    found = [str(each.found) for each in checks.examine()]
    missing = [text.removeprefix("missing: ") for text in found if text.startswith("missing: ")]
    names = [name for text in missing for name in text.split(", ")]
    assert "torch" in names
    assert len(names) == len(set(names))
    assert "torch" not in [str(each.what) for each in checks.examine()]


def test_a_tool_that_is_not_there_is_a_finding() -> None:
    found = checks.tool("no-such-tool", [], Sentence("the tool"))
    assert (found.fine, str(found.remedy)) == (False, "install the tool")


def test_doctor_looks_at_torch_without_importing_it() -> None:
    program = (
        "import sys\nfrom minisgl_tutor.cli.checks import examine\n"
        "found = {str(finding.what): finding.fine for finding in examine()}\n"
        "assert 'torch' in found and found['Python']\n"
        "assert 'torch' not in sys.modules and 'transformers' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
