"""Where a model's files are: shipped, a directory, a GGUF file or a hub id. Imports no torch."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from .. import resources
from ..language import Sentence
from ..panics import panics_as_errors
from .directory import weight_files
from .errors import ModelError

HUB_FILES = ["*.json", "*.safetensors", "*.jinja", "tokenizer.model", "merges.txt", "vocab.txt"]
HUBS: Mapping[str, tuple[str, str]] = {
    "huggingface": ("Hugging Face", "huggingface_hub"),
    "modelscope": ("ModelScope", "modelscope"),
}
"""By ``--model-source``: the hub's name, and its client, which has a ``snapshot_download``."""

REMEDY = Sentence(
    "give --model a directory or a GGUF file, "
    "or start without --model for the model that ships with the package"
)


def resolve_model(model: str | None, dtype: str = "bfloat16", source: str = "huggingface") -> Path:
    """A local directory with ``config.json``, weights and tokenizer of the model that a user named.

    ``None`` is the shipped model. A GGUF file is converted once into the user's
    cache, with its weights in ``dtype`` (may take a while and import torch). Anything
    that is not a path is an id at the hub ``source``, one of ``HUBS``: the copy in the
    hub's cache is taken where there is one, else it is downloaded. Give the result
    instead of the name to other processes, so that they need not do it again.

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
            raise ModelError(
                Sentence("{model} is a file but not a *.gguf one; {remedy}.", model=model, remedy=REMEDY)
            )
        from .gguf import converted

        return converted(path, dtype, cache_dir())
    if model.startswith(("/", ".", "~")) or path.suffix.lower() == ".gguf" or model.count("/") > 1:
        raise ModelError(
            Sentence("There is no file or directory {model}; {remedy}.", model=model, remedy=REMEDY)
        )
    return _from_hub(model, source)


def cache_dir() -> Path:
    """Where converted models are kept: $MINISGL_TUTOR_CACHE, or a folder in the user's cache."""
    chosen = os.environ.get("MINISGL_TUTOR_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "minisgl-tutor"


def _checked_directory(path: Path) -> Path:
    if not (path / "config.json").is_file():
        raise ModelError(
            Sentence(
                "{path} is not a model directory, as it has no config.json; {remedy}.",
                path=path,
                remedy=REMEDY,
            )
        )
    return path


def _complete(path: Path) -> Path:
    """A download that was broken off leaves a directory behind, too."""
    weight_files(path)
    return _checked_directory(path)


def _from_hub(name: str, source: str) -> Path:
    hub, client = HUBS[source]
    try:
        snapshot_download = import_module(client).snapshot_download
    except ImportError:
        raise ModelError(
            Sentence(
                "{name} is no path, and the package {client}, which would fetch it from {hub}, is not "
                "installed; run pip install {client}, or {remedy}.",
                name=name,
                client=client,
                hub=hub,
                remedy=REMEDY,
            )
        ) from None
    # Not in the cache, or only in part: which error says so varies between versions of the hub's client.
    with contextlib.suppress(Exception), panics_as_errors():
        return _complete(Path(snapshot_download(name, allow_patterns=HUB_FILES, local_files_only=True)))
    try:
        with panics_as_errors():
            return _complete(Path(snapshot_download(name, allow_patterns=HUB_FILES)))
    except ModelError:
        raise
    except Exception as error:  # A hub's client raises a dozen kinds of its own and of its HTTP library.
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        other = next(known for known in HUBS if known != source)
        raise ModelError(
            Sentence(
                "{name} is no file or directory, is not in the {hub} cache, and cannot be downloaded "
                "({reason}); check the id and the network, give --model-source {other} if it is there, "
                "or {remedy}.",
                name=name,
                hub=hub,
                reason=reason,
                other=other,
                remedy=REMEDY,
            )
        ) from None
