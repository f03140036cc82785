"""Measures how much memory the loading of a model takes beyond the model, on a CPU.

    python scripts/measure_loading.py [--layers 16] [--shards 8] [--dtype bfloat16]

Writes a model of random weights in several shards to a temporary folder, loads it in a
process of its own, and prints as JSON the peak of that process's memory against the size
of the weights: of its own memory, and with the pages of the mapped files that the system
counts to it but takes back when they are needed. Linux only.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

SHAPE = {
    "architectures": ["Qwen3ForCausalLM"],
    "vocab_size": 32_000,
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
}


def memory() -> dict[str, int]:
    """Bytes of this process's memory: its own, and that of files."""
    fields = (line.split() for line in Path("/proc/self/status").read_text().splitlines())
    found = {field[0]: int(field[1]) * 1024 for field in fields if field[0].startswith("Rss")}
    return {"own": found["RssAnon:"], "files": found["RssFile:"]}


def write_model(folder: Path, layers: int, shards: int) -> int:
    """Gives the bytes of its weights, which are in bfloat16."""
    import torch
    from safetensors.torch import save_file

    from minisgl_tutor.models.config import parse_model_config
    from minisgl_tutor.models.decoder import Decoder

    raw = {**SHAPE, "num_hidden_layers": layers}
    (folder / "config.json").write_text(json.dumps(raw), encoding="utf-8")
    decoder = Decoder(parse_model_config(raw), 16, torch.bfloat16, torch.device("meta"))
    shapes = {name: place.shape for name, place in decoder.destinations().items()}
    names, weight_map, size = sorted(shapes), {}, 0
    for shard in range(shards):
        file = f"model-{shard}.safetensors"
        tensors = {name: torch.randn(shapes[name], dtype=torch.bfloat16) for name in names[shard::shards]}
        save_file(tensors, folder / file)
        weight_map |= dict.fromkeys(tensors, file)
        size += sum(tensor.nbytes for tensor in tensors.values())
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": weight_map}), encoding="utf-8")
    return size


def load(folder: Path, dtype: str) -> None:
    """In the process that is measured: prints the peaks above what it had before."""
    import torch

    from minisgl_tutor.models.config import load_model_config
    from minisgl_tutor.models.decoder import Decoder
    from minisgl_tutor.models.weights import load_weights

    config = load_model_config(folder)
    torch.nn.functional.linear(*torch.randn(2, 64, 64, dtype=torch.bfloat16))  # libraries set themselves up
    before, peak, ended = memory(), memory(), threading.Event()
    together = sum(before.values())

    def watch() -> None:
        nonlocal together
        while not ended.wait(0.002):
            now = memory()
            together = max(together, sum(now.values()))
            peak.update({name: max(peak[name], now[name]) for name in now})

    watcher = threading.Thread(target=watch)
    watcher.start()
    decoder = Decoder(config, 16, getattr(torch, dtype), torch.device("cpu"))
    load_weights(decoder, folder)
    ended.set()
    watcher.join()
    after = memory()["own"] - before["own"]
    result = {
        "own": peak["own"] - before["own"],
        "with_files": together - sum(before.values()),
        "after": after,
    }
    print(json.dumps(result))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--layers", type=int, default=16)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--load", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.load:
        load(options.load, options.dtype)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        size = write_model(Path(folder), options.layers, options.shards)
        command = [sys.executable, __file__, "--load", folder, "--dtype", options.dtype]
        found: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    weights = size * (2 if options.dtype == "float32" else 1)
    result = {"weights_mb": round(weights / 1e6), "shards": options.shards, "dtype": options.dtype}
    for name, taken in found.items():
        result |= {f"{name}_mb": round(taken / 1e6), f"{name}_to_weights": round(taken / weights, 3)}
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
