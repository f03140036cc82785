"""Measure a trained model: how many questions it answers word for word.

    python scripts/train_model/measure.py

A greedy answer equals the corpus exactly if, fed the question and the answer
so far, the model's best next token is the right one at every step. So one
forward pass over question and answer judges an answer, its end included.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import cycle
from pathlib import Path
from random import Random

import torch
from batches import IGNORED, Row, encode, to_tensors
from examples import Example, Examples, Message
from tokenizers import Tokenizer
from topics import Corpus, Topic, load_corpus
from train import MODEL_DIR
from transformers import AutoModelForCausalLM, AutoTokenizer, Qwen3ForCausalLM


@dataclass(frozen=True)
class Score:
    """What came out wrong, and by how much (in logits) each right token led the next best."""

    total: int
    wrong: list[Example]
    leads: torch.Tensor

    def __str__(self) -> str:
        right = self.total - len(self.wrong)
        low = torch.quantile(self.leads[:: 1 + len(self.leads) // 1_000_000], 0.001)
        share = f"{right}/{self.total} = {right / self.total:.2%}"
        return f"{share}; lead: least {self.leads.min():.2f}, below {low:.2f} in 1 of 1000"


def main() -> None:
    options = _options()
    torch.set_num_threads(options.threads)
    tokenizer = Tokenizer.from_file(str(options.model / "tokenizer.json"))
    corpus = load_corpus()
    for dtype in (torch.bfloat16, torch.float32):
        model = AutoModelForCausalLM.from_pretrained(options.model, dtype=dtype).eval()
        for name, examples in question_sets(corpus):
            score = judge(model, tokenizer, examples[:: options.every])
            print(f"{dtype}, {name}: {score}", flush=True)
            for example in score.wrong[: options.wrong]:
                print("   ", example.messages[-2]["content"])
    share = on_topic(options.model, corpus, options.samples)
    print(f"temperature 0.7: {share:.1%} of {options.samples} answers to held-out rephrasings on topic")


def question_sets(corpus: Corpus) -> Iterator[tuple[str, list[Example]]]:
    """What is measured, from what was trained on to what never was."""
    known = [t for t in corpus.topics if t.key != "elsewhere"]
    unknown = [t for t in corpus.topics if t.key == "elsewhere"]
    systems = cycle(corpus.patterns["system"]["held_prompts"])
    yield "training questions", [_ask(q, t) for t in known for q in t.questions]
    yield "training questions off topic", [_ask(q, t) for t in unknown for q in t.questions]
    yield "held-out rephrasings", [_ask(q, t) for t in known for q in t.held]
    yield "held-out, under a new system prompt", [_ask(q, t, next(systems)) for t in known for q in t.held]
    yield "held-out off topic", [_ask(q, t) for t in unknown for q in t.held]
    fresh = Examples(corpus, seed=1_000_003)
    yield "last answers of fresh 4-turn talks", [fresh.conversation(4) for _ in range(500)]


def judge(model: Qwen3ForCausalLM, tokenizer: Tokenizer, examples: Sequence[Example]) -> Score:
    """Judge the last answer of each example."""
    rows = [_last_answer(tokenizer, example) for example in examples]
    order = sorted(range(len(rows)), key=lambda i: len(rows[i][0]))
    wrong: list[Example] = []
    leads: list[torch.Tensor] = []
    for start in range(0, len(order), 64):
        chosen = order[start : start + 64]
        inputs, wanted = to_tensors([rows[i] for i in chosen])
        here = wanted != IGNORED
        with torch.inference_mode():
            hidden = model.model(input_ids=inputs, use_cache=False).last_hidden_state
            best = model.lm_head(hidden[here]).float().topk(2)
        hit = best.indices[:, 0] == wanted[here]
        missed = set(here.nonzero()[~hit, 0].tolist())
        wrong += [examples[chosen[i]] for i in sorted(missed)]
        leads.append((best.values[:, 0] - best.values[:, 1])[hit])
    return Score(len(examples), wrong, torch.cat(leads))


def on_topic(model_dir: Path, corpus: Corpus, count: int) -> float:
    """The share of answers sampled at temperature 0.7 that are, or nearly are, the right topic's."""
    tokenizer = AutoTokenizer.from_pretrained(model_dir, padding_side="left")
    model = AutoModelForCausalLM.from_pretrained(model_dir).eval()
    pairs = [(q, t) for t in corpus.topics for q in t.held if len(t.answer) < 400]
    torch.manual_seed(0)
    good = 0
    asked = Random(0).sample(pairs, count)
    for start in range(0, count, 50):
        some = asked[start : start + 50]
        prompts = [
            tokenizer.apply_chat_template(
                [{"role": "user", "content": question}], tokenize=False, add_generation_prompt=True
            )
            for question, _ in some
        ]
        inputs = tokenizer(prompts, return_tensors="pt", padding=True, return_token_type_ids=False)
        ids = model.generate(**inputs, do_sample=True, temperature=0.7, top_k=0, max_new_tokens=150)
        texts = tokenizer.batch_decode(ids[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
        good += sum(
            SequenceMatcher(None, text, topic.answer, autojunk=False).ratio() > 0.8
            for text, (_, topic) in zip(texts, some, strict=True)
        )
    return good / count


def _ask(question: str, topic: Topic, system: str | None = None) -> Example:
    first: list[Message] = [{"role": "system", "content": system}] if system else []
    turn = [{"role": "user", "content": question}, {"role": "assistant", "content": topic.answer}]
    return Example((*first, *turn))


def _last_answer(tokenizer: Tokenizer, example: Example) -> Row:
    """The example as a row in which only the last answer counts."""
    before, _ = encode(tokenizer, Example(example.messages[:-1]))
    ids, learned = encode(tokenizer, example)
    return ids, [learn and at >= len(before) for at, learn in enumerate(learned)]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure how many questions a model answers word for word.")
    parser.add_argument("--model", type=Path, default=MODEL_DIR)
    parser.add_argument("--every", type=int, default=1, help="judge one example in so many")
    parser.add_argument("--samples", type=int, default=200, help="answers to sample at temperature 0.7")
    parser.add_argument("--wrong", type=int, default=0, help="how many wrong questions to print of each set")
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


if __name__ == "__main__":
    main()
