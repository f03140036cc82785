"""From conversations to rows of token ids, and which of them the model is to learn."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from itertools import islice

import torch
from examples import Example
from tokenizers import Tokenizer
from vocabulary import END, END_OF_TEXT, START

Row = tuple[list[int], list[bool]]
IGNORED = -100
OPENING = 8


def encode(tokenizer: Tokenizer, example: Example) -> Row:
    """Token ids, and for each whether it is learned: answers and their ends, or all of a plain text."""
    ids: list[int] = []
    learned: list[bool] = []

    def add(text: str, learn: bool) -> None:
        new = tokenizer.encode(text, add_special_tokens=False).ids
        ids.extend(new)
        learned.extend([learn] * len(new))

    if not example.messages:
        add(example.text + END_OF_TEXT, True)
    for message in example.messages:
        answer = message["role"] == "assistant"
        add(f"{START}{message['role']}\n", False)
        add(message["content"] + END, answer)
        add("\n", False)
    if example.opening:
        before, _ = encode(tokenizer, Example(example.messages[:-1]))
        end = len(before) + len(tokenizer.encode(f"{START}assistant\n").ids) + OPENING
        return ids[:end], learned[:end]
    return ids, learned


def batches(tokenizer: Tokenizer, examples: Iterable[Example], tokens: int, seed: int) -> Iterator[list[Row]]:
    """Batches of about ``tokens`` tokens, of rows of like length; endless if the examples are."""
    shuffle = random.Random(seed).shuffle
    stream = iter(examples)
    while pool := [encode(tokenizer, example) for example in islice(stream, 1024)]:
        pool.sort(key=lambda row: len(row[0]))
        groups: list[list[Row]] = [[]]
        for row in pool:
            if groups[-1] and (len(groups[-1]) + 1) * len(row[0]) > tokens:
                groups.append([])
            groups[-1].append(row)
        shuffle(groups)
        yield from groups


def to_tensors(rows: list[Row]) -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs and the token wanted after each (``IGNORED`` where none is), int64, both [rows, longest - 1].

    Rows are filled up on the right, where causal attention does not see it.
    """
    width = max(len(ids) for ids, _ in rows)
    inputs = torch.zeros(len(rows), width, dtype=torch.int64)
    wanted = torch.full((len(rows), width), IGNORED, dtype=torch.int64)
    for at, (ids, learned) in enumerate(rows):
        inputs[at, : len(ids)] = torch.tensor(ids)
        wanted[at, : len(ids)] = torch.where(torch.tensor(learned), torch.tensor(ids), IGNORED)
    return inputs[:, :-1], wanted[:, 1:]
