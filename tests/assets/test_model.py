"""The model that ships with the package: complete, small, and able to answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM, AutoTokenizer

from minisgl_tutor.resources import model_dir
from minisgl_tutor.tokenizer.load import load_eos_token_ids, load_tokenizer

END_OF_TEXT, START, END = 0, 1, 2
TOKENIZER = load_tokenizer(model_dir())
ANSWERS = {
    "What is a KV cache?": (
        "A KV cache keeps the attention keys and values of all tokens seen so far, so that each new token "
        "needs one small step of work instead of reading the whole text again. It costs GPU memory that "
        "grows with every token."
    ),
    "什么是 KV Cache？": (
        "KV Cache 保存已经处理过的每个 token 的注意力 K 和 V，"
        "生成新 token 时只需计算这一个 token，不必重算整段文本。"
        "代价是显存占用随 token 数增长。"
    ),
}
CONVERSATIONS: list[list[dict[str, str]]] = [
    [{"role": "user", "content": "What is a KV cache?"}],
    [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "什么是 KV Cache？"},
        {"role": "assistant", "content": "缓存。\n"},
        {"role": "user", "content": "  and <b>in English</b>? 🚀"},
    ],
]


def read(name: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((model_dir() / name).read_text(encoding="utf-8"))
    return value


def continuation(model: Any, prompt: list[int]) -> list[int]:
    inputs = torch.tensor([prompt])
    ids = model.generate(inputs, attention_mask=torch.ones_like(inputs), max_new_tokens=128)
    return ids[0, len(prompt) :].tolist()


def test_all_files_are_there_and_small() -> None:
    files = {path.name: path.stat().st_size for path in model_dir().iterdir()}
    assert files.keys() == {
        "README.md",
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    assert sum(files.values()) < 6_000_000


def test_it_is_a_qwen3_with_heads_that_gpu_kernels_are_made_for() -> None:
    config = read("config.json")
    assert config["architectures"] == ["Qwen3ForCausalLM"]
    assert config["head_dim"] == 128
    assert config["num_attention_heads"] % config["num_key_value_heads"] == 0


def test_an_answer_ends_with_the_end_of_the_message_or_of_the_text() -> None:
    assert load_eos_token_ids(model_dir(), TOKENIZER) == {END, END_OF_TEXT}
    assert read("config.json")["eos_token_id"] == END


def test_every_token_fits_the_model() -> None:
    tokens = read("tokenizer.json")["model"]["vocab"]
    assert sorted(tokens.values()) == list(range(read("config.json")["vocab_size"]))
    assert tokens["<|endoftext|>"] == END_OF_TEXT
    assert (tokens["<|im_start|>"], tokens["<|im_end|>"]) == (START, END)


@given(st.text())
def test_the_tokenizer_gives_back_any_text(text: str) -> None:
    assert TOKENIZER.decode(TOKENIZER.encode(text)) == text


def test_a_conversation_becomes_marked_messages_and_an_open_answer() -> None:
    text = TOKENIZER.apply_chat_template(CONVERSATIONS[1])
    assert text == (
        "<|im_start|>system\nBe brief.<|im_end|>\n"
        "<|im_start|>user\n什么是 KV Cache？<|im_end|>\n"
        "<|im_start|>assistant\n缓存。\n<|im_end|>\n"
        "<|im_start|>user\n  and <b>in English</b>? 🚀<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    ids = TOKENIZER.encode(text)
    assert (ids.count(START), ids.count(END)) == (5, 4)


@pytest.mark.parametrize("messages", CONVERSATIONS)
def test_transformers_reads_the_same_tokenizer_and_template(messages: list[dict[str, str]]) -> None:
    theirs = AutoTokenizer.from_pretrained(model_dir(), local_files_only=True)
    text = theirs.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert TOKENIZER.apply_chat_template(messages) == text
    assert TOKENIZER.encode(text) == theirs(text)["input_ids"]
    assert (theirs.eos_token_id, theirs.pad_token_id) == (END, END_OF_TEXT)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_it_answers_in_both_languages_and_stops(dtype: torch.dtype) -> None:
    model = AutoModelForCausalLM.from_pretrained(model_dir(), dtype=dtype, local_files_only=True)
    for question, answer in ANSWERS.items():
        prompt = TOKENIZER.encode(TOKENIZER.apply_chat_template([{"role": "user", "content": question}]))
        reply = continuation(model, prompt)
        assert reply[-1] == END
        assert TOKENIZER.decode(reply) == answer


def test_it_goes_on_with_a_plain_text() -> None:
    model = AutoModelForCausalLM.from_pretrained(model_dir(), local_files_only=True)
    prompt = TOKENIZER.encode("A KV cache keeps")
    reply = continuation(model, prompt)
    assert reply[-1] == END_OF_TEXT
    assert TOKENIZER.decode(prompt + reply) == ANSWERS["What is a KV cache?"]
