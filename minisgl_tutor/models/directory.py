"""What a model directory in Hugging Face's layout holds. Imports no torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..language import Sentence, reason_of
from .errors import ModelError

INDEX_FILE = "model.safetensors.index.json"


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file of a model directory.

    Raises:
        ModelError: the file is missing, not JSON, or not an object.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelError(
            Sentence(
                "{path} cannot be read ({reason}); is this a model directory?",
                path=path,
                reason=reason_of(error),
            )
        ) from None
    except ValueError:
        raise ModelError(Sentence("{path} is not valid JSON; download the model again.", path=path)) from None
    if not isinstance(value, dict):
        raise ModelError(Sentence("{path} does not hold a JSON object; download the model again.", path=path))
    return value


def weight_files(model_dir: Path) -> list[Path]:
    """The safetensors files of a model directory, in a fixed order.

    Raises:
        ModelError: there are none, or the index names one that is missing.
    """
    index = model_dir / INDEX_FILE
    if not index.exists():
        files = sorted(model_dir.glob("*.safetensors"))
        if not files:
            raise ModelError(
                Sentence(
                    "{model_dir} holds no *.safetensors file; give a model that does, or a GGUF.",
                    model_dir=model_dir,
                )
            )
        return files
    names = read_json(index).get("weight_map")
    if not isinstance(names, dict):
        raise ModelError(Sentence("{index} has no weight_map; download the model again.", index=index))
    files = [model_dir / str(name) for name in sorted(set(names.values()))]
    for file in files:
        if not file.is_file():
            raise ModelError(Sentence("{file} is missing; download the model again.", file=file))
    return files
