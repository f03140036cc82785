"""A model is found by path, or one sentence says what to do; nothing here needs a network."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

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
    assert REMEDY in sentence
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


def test_where_converted_models_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MINISGL_TUTOR_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_dir() == tmp_path / "xdg" / "minisgl-tutor"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_dir() == tmp_path / ".cache" / "minisgl-tutor"
    monkeypatch.setenv("MINISGL_TUTOR_CACHE", str(tmp_path / "mine"))
    assert cache_dir() == tmp_path / "mine"
