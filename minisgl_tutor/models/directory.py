"""What a model directory in Hugging Face's layout holds. Imports no torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

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
        raise ModelError(f"{path} cannot be read ({error.strerror}); is this a model directory?") from None
    except ValueError:
        raise ModelError(f"{path} is not valid JSON; download the model again.") from None
    if not isinstance(value, dict):
        raise ModelError(f"{path} does not hold a JSON object; download the model again.")
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
            raise ModelError(f"{model_dir} holds no *.safetensors file; give a model that does, or a GGUF.")
        return files
    names = read_json(index).get("weight_map")
    if not isinstance(names, dict):
        raise ModelError(f"{index} has no weight_map; download the model again.")
    files = [model_dir / str(name) for name in sorted(set(names.values()))]
    for file in files:
        if not file.is_file():
            raise ModelError(f"{file} is missing; download the model again.")
    return files
