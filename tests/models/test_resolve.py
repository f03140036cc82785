"""A model is found by path, or one sentence says what to do; nothing here needs a network."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from minisgl_tutor import resources
from minisgl_tutor.models.errors import ModelError
from minisgl_tutor.models.resolve import cache_dir, resolve_model

REMEDY = "give --model a directory or a GGUF file, or start without --model"


@pytest.fixture
def offline_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty hub cache, and a hub client that knows it is offline."""
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    yield tmp_path / "hub"


def test_no_name_is_the_shipped_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "model_dir", lambda: tmp_path)
    (tmp_path / "config.json").write_text("{}")
    assert resolve_model(None) == tmp_path


def test_a_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match=f"no config.json; {REMEDY}"):
        resolve_model(str(tmp_path))
    (tmp_path / "config.json").write_text("{}")
    assert resolve_model(str(tmp_path)) == tmp_path
    monkeypatch.setenv("HOME", str(tmp_path.parent))
    assert resolve_model(f"~/{tmp_path.name}") == tmp_path


@pytest.mark.parametrize("name", ["/no/such/place", "./here", "../there", "~/x", "a.gguf", "models/deep/er"])
def test_a_path_that_is_not_there(name: str) -> None:
    with pytest.raises(ModelError, match=f"There is no file or directory {name}; {REMEDY}"):
        resolve_model(name)


def test_a_file_of_another_kind(tmp_path: Path) -> None:
    file = tmp_path / "model.bin"
    file.touch()
    with pytest.raises(ModelError, match=r"not a \*\.gguf one"):
        resolve_model(str(file))


def test_a_hub_id_that_cannot_be_had(offline_hub: Path) -> None:
    with pytest.raises(ModelError) as caught:
        resolve_model("somebody/some-model")
    sentence = str(caught.value)
    assert sentence.startswith(
        "somebody/some-model is no file or directory, "
        "is not in the Hugging Face cache, and cannot be downloaded"
    )
    assert REMEDY in sentence and "check the id and the network" in sentence
    assert "--model-source modelscope" in sentence
    assert "\n" not in sentence


def test_a_name_that_can_be_no_hub_id(offline_hub: Path) -> None:
    with pytest.raises(ModelError, match=REMEDY):
        resolve_model("what is this?")


def test_a_hub_id_in_the_cache(offline_hub: Path) -> None:
    commit = "0" * 40
    repository = offline_hub / "models--somebody--some-model"
    snapshot = repository / "snapshots" / commit
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    (snapshot / "config.json").write_text("{}")
    index = {"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}
    (snapshot / "model.safetensors.index.json").write_text(json.dumps(index))
    (snapshot / "one.safetensors").touch()
    # A download that was broken off is not taken for the model.
    with pytest.raises(ModelError, match=r"two\.safetensors is missing"):
        resolve_model("somebody/some-model")
    (snapshot / "two.safetensors").touch()
    assert resolve_model("somebody/some-model") == snapshot


@pytest.fixture
def modelscope(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., str]], None]:
    """Puts a client of ModelScope in place that answers ``snapshot_download`` as told."""

    def install(snapshot_download: Callable[..., str]) -> None:
        client = ModuleType("modelscope")
        client.snapshot_download = snapshot_download  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "modelscope", client)

    return install


def test_modelscope_downloads_what_its_cache_lacks(modelscope: Any, tmp_path: Path) -> None:
    asked = []

    def snapshot_download(name: str, allow_patterns: list[str], local_files_only: bool = False) -> str:
        asked.append((name, local_files_only))
        assert "*.safetensors" in allow_patterns
        if local_files_only:
            raise ValueError("not there")
        (tmp_path / "config.json").write_text("{}")
        (tmp_path / "model.safetensors").touch()
        return str(tmp_path)

    modelscope(snapshot_download)
    assert resolve_model("Qwen/Qwen3-0.6B", source="modelscope") == tmp_path
    assert asked == [("Qwen/Qwen3-0.6B", True), ("Qwen/Qwen3-0.6B", False)]


def test_modelscope_takes_its_cache(modelscope: Any, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").touch()
    modelscope(lambda name, allow_patterns, local_files_only: str(tmp_path))
    assert resolve_model("Qwen/Qwen3-0.6B", source="modelscope") == tmp_path


def test_a_modelscope_id_that_cannot_be_had(modelscope: Any) -> None:
    def snapshot_download(name: str, **options: Any) -> str:
        raise ConnectionError("no route\nto host")

    modelscope(snapshot_download)
    with pytest.raises(ModelError) as caught:
        resolve_model("somebody/some-model", source="modelscope")
    sentence = str(caught.value)
    assert "is not in the ModelScope cache, and cannot be downloaded (no route)" in sentence
    assert "--model-source huggingface" in sentence and REMEDY in sentence
    assert "\n" not in sentence


def test_modelscope_without_its_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "modelscope", None)
    with pytest.raises(
        ModelError, match=f"ModelScope, is not installed; run pip install modelscope, or {REMEDY}"
    ):
        resolve_model("somebody/some-model", source="modelscope")


def test_where_converted_models_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MINISGL_TUTOR_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_dir() == tmp_path / "xdg" / "minisgl-tutor"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_dir() == tmp_path / ".cache" / "minisgl-tutor"
    monkeypatch.setenv("MINISGL_TUTOR_CACHE", str(tmp_path / "mine"))
    assert cache_dir() == tmp_path / "mine"
