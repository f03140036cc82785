"""Where a model's files are: shipped, a directory, a GGUF file or a hub id. Imports no torch."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from .. import resources
from .directory import weight_files
from .errors import ModelError

HUB_FILES = ["*.json", "*.safetensors", "*.jinja", "tokenizer.model", "merges.txt", "vocab.txt"]
REMEDY = (
    "give --model a directory or a GGUF file, "
    "or start without --model for the model that ships with the package"
)


def resolve_model(model: str | None, dtype: str = "bfloat16") -> Path:
    """A local directory with ``config.json``, weights and tokenizer of the model that a user named.

    ``None`` is the shipped model. A GGUF file is converted once into the user's
    cache, with its weights in ``dtype`` (may take a while and import torch). Anything
    that is not a path is a Hugging Face hub id: the copy in the hub's cache is taken
    where there is one, else it is downloaded. Give the result instead of the name to
    other processes, so that they need not do it again.

    Raises:
        ModelError: it cannot be had; one sentence says what was tried and what to do.
    """
    if model is None:
        return _checked_directory(resources.model_dir())
    path = Path(model).expanduser()
    if path.is_dir():
        return _checked_directory(path)
    if path.is_file():
        if path.suffix.lower() != ".gguf":
            raise ModelError(f"{model} is a file but not a *.gguf one; {REMEDY}.")
        from .gguf import converted

        return converted(path, dtype, cache_dir())
    if model.startswith(("/", ".", "~")) or path.suffix.lower() == ".gguf" or model.count("/") > 1:
        raise ModelError(f"There is no file or directory {model}; {REMEDY}.")
    return _from_hub(model)


def cache_dir() -> Path:
    """Where converted models are kept: $MINISGL_TUTOR_CACHE, or a folder in the user's cache."""
    chosen = os.environ.get("MINISGL_TUTOR_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "minisgl-tutor"


def _checked_directory(path: Path) -> Path:
    if not (path / "config.json").is_file():
        raise ModelError(f"{path} is not a model directory, as it has no config.json; {REMEDY}.")
    return path


def _complete(path: Path) -> Path:
    """A download that was broken off leaves a directory behind, too."""
    weight_files(path)
    return _checked_directory(path)


def _from_hub(name: str) -> Path:
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise ModelError(f"{name} is no path, and huggingface_hub is not installed; {REMEDY}.") from None
    # Not in the cache, or only in part: which error says so varies between versions of the hub's client.
    with contextlib.suppress(Exception):
        return _complete(Path(snapshot_download(name, allow_patterns=HUB_FILES, local_files_only=True)))
    try:
        return _complete(Path(snapshot_download(name, allow_patterns=HUB_FILES)))
    except ModelError:
        raise
    except Exception as error:  # The hub's client raises a dozen kinds of its own and of its HTTP library.
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelError(
            f"{name} is no file or directory, is not in the Hugging Face cache, and cannot be "
            f"downloaded ({reason}); {REMEDY}."
        ) from None
