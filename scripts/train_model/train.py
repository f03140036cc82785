"""Train the model that ships with the package, from nothing to ``minisgl_tutor/assets/model``.

    python scripts/train_model/train.py

The same seed, threads and processor give the same file. README.md beside this script tells more.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import deque
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from statistics import fmean

import torch
from batches import IGNORED, batches, to_tensors
from examples import Examples
from safetensors.torch import save_file
from tokenizers import Tokenizer
from topics import load_corpus
from transformers import Qwen3Config, Qwen3ForCausalLM
from vocabulary import END, END_OF_TEXT, SPECIAL_TOKENS, learn_tokenizer, save_tokenizer

MODEL_DIR = Path(__file__).resolve().parents[2] / "minisgl_tutor" / "assets" / "model"
VOCAB_SIZE, MAX_LENGTH = 3072, 2048
SEED = 7


def main() -> None:
    options = _options()
    torch.set_num_threads(options.threads)
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    torch.manual_seed(options.seed)

    corpus = load_corpus()
    tokenizer = learn_tokenizer(corpus.texts(), VOCAB_SIZE)
    model = Qwen3ForCausalLM(model_config())
    print(f"{model.num_parameters():,} parameters, {len(corpus.topics)} answers")
    rows = batches(tokenizer, Examples(corpus, options.seed), options.tokens, options.seed)
    train(model, (to_tensors(batch) for batch in rows), options.steps)

    options.out.mkdir(parents=True, exist_ok=True)
    save_tokenizer(tokenizer, options.out, MAX_LENGTH)
    save_model(model, tokenizer, options.out)


def model_config() -> Qwen3Config:
    """Qwen3 in miniature. Heads are 128 wide as in its large sisters, which GPU kernels are made for."""
    return Qwen3Config(
        vocab_size=VOCAB_SIZE,
        hidden_size=192,
        intermediate_size=384,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=128,
        max_position_embeddings=MAX_LENGTH,
        rope_theta=10000.0,
        tie_word_embeddings=True,
        use_cache=True,
        initializer_range=0.02,
        bos_token_id=None,
        eos_token_id=SPECIAL_TOKENS.index(END),
        pad_token_id=SPECIAL_TOKENS.index(END_OF_TEXT),
    )


def train(model: Qwen3ForCausalLM, data: Iterable[tuple[torch.Tensor, torch.Tensor]], steps: int) -> None:
    """Muon for the matrices, AdamW for embedding and norms; both rates warm up, then fall along a cosine."""
    named = dict(model.named_parameters())
    matrices = [p for name, p in named.items() if p.ndim == 2 and "embed" not in name]
    others = [p for name, p in named.items() if p.ndim < 2 or "embed" in name]
    optimizers = (
        torch.optim.Muon(matrices, lr=0.05, momentum=0.95, weight_decay=0.01),
        torch.optim.AdamW(others, lr=0.015, betas=(0.9, 0.95), weight_decay=0.0),
    )
    warm = steps // 20

    def shape(step: int) -> float:
        if step < warm:
            return (step + 1) / warm
        return (1 + math.cos(math.pi * (step - warm) / (steps - warm))) / 2

    schedules = [torch.optim.lr_scheduler.LambdaLR(optimizer, shape) for optimizer in optimizers]
    model.train()
    start, recent = time.monotonic(), deque[float](maxlen=50)
    for step, (inputs, wanted) in enumerate(islice(data, steps), start=1):
        loss = loss_on(model, inputs, wanted)
        model.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for part in (*optimizers, *schedules):
            part.step()
        recent.append(loss.item())
        if step % 50 == 0:
            seconds = time.monotonic() - start
            print(f"step {step}/{steps}  loss {fmean(recent):.5f}  {seconds:.0f} s", flush=True)


def loss_on(model: Qwen3ForCausalLM, inputs: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """Cross-entropy, with logits computed only where a token is to be learned."""
    hidden = model.model(input_ids=inputs, use_cache=False).last_hidden_state
    here = wanted != IGNORED
    return torch.nn.functional.cross_entropy(model.lm_head(hidden[here]), wanted[here])


def save_model(model: Qwen3ForCausalLM, tokenizer: Tokenizer, folder: Path) -> None:
    """Write weights in bfloat16 under their Hugging Face names, with the two configurations."""
    weights = {
        name: tensor.to(torch.bfloat16).contiguous()
        for name, tensor in sorted(model.state_dict().items())
        if name != "lm_head.weight"  # tied to the embedding
    }
    file = folder / "model.safetensors"
    save_file(weights, file, metadata={"format": "pt"})
    file.chmod(0o644)  # safetensors would keep it to this user
    config = model.config.to_dict() | {"architectures": ["Qwen3ForCausalLM"], "dtype": "bfloat16"}
    config.pop("_name_or_path", None)
    config.pop("transformers_version", None)
    _write_json(folder / "config.json", config)
    ends = [tokenizer.token_to_id(END), tokenizer.token_to_id(END_OF_TEXT)]
    _write_json(
        folder / "generation_config.json",
        {"do_sample": False, "eos_token_id": ends, "pad_token_id": tokenizer.token_to_id(END_OF_TEXT)},
    )


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=MODEL_DIR)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--tokens", type=int, default=2048, help="tokens in a batch")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
