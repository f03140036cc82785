"""Finding a tokenizer, its template and its end-of-sequence ids in what models come with."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer as LibraryTokenizer

from minisgl_tutor.tokenizer.load import TokenizerNotFound, load_eos_token_ids, load_tokenizer
from minisgl_tutor.tokenizer.template import ChatTemplateError
from minisgl_tutor.tokenizer.tokenizer import Tokenizer

TEXTS = ["the cat", "", "  什么", "👨‍👩‍👧‍👦", "<|im_start|>user</s>"]
QUESTION = [{"role": "user", "content": "hi"}]


def write_model(path: Path, library: LibraryTokenizer, **files: Any) -> Path:
    """A model directory: ``tokenizer.json`` and other JSON files by name."""
    library.save(str(path / "tokenizer.json"))
    for name, content in files.items():
        (path / f"{name}.json").write_text(json.dumps(content))
    return path


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"bos_token": "<s>", "eos_token": {"__type": "AddedToken", "content": "</s>"}},
        {"add_bos_token": True, "add_eos_token": True, "bos_token": "<s>", "eos_token": "</s>"},
        {"add_bos_token": False, "add_eos_token": False, "bos_token": "<s>"},
        {"eos_token": "<new end>", "pad_token": "<pad>"},
        {"additional_special_tokens": ["<|aside|>"], "eos_token": "</s>"},
        {
            "added_tokens_decoder": {
                "420": {"content": "<think>", "special": False, "normalized": False},
                "421": {"content": "<hidden>", "special": True},
            }
        },
    ],
)
def test_ids_and_texts_are_those_of_transformers(
    bpe_library: LibraryTokenizer, tmp_path: Path, config: dict[str, Any]
) -> None:
    from transformers import PreTrainedTokenizerFast

    write_model(tmp_path, bpe_library, tokenizer_config=config)
    peer = PreTrainedTokenizerFast.from_pretrained(tmp_path)
    ours = load_tokenizer(tmp_path)
    assert ours.vocab_size == len(peer)
    for text in [*TEXTS, "a<think>b<hidden>c<new end><|aside|>d"]:
        assert ours.encode(text) == peer(text)["input_ids"]
        ids = peer(text, add_special_tokens=False)["input_ids"]
        assert ours.encode(text, add_special_tokens=False) == ids
        assert ours.decode(ids) == peer.decode(ids, skip_special_tokens=True)


def test_a_text_is_never_cut_or_padded(bpe_library: LibraryTokenizer, tmp_path: Path) -> None:
    library = LibraryTokenizer.from_str(bpe_library.to_str())
    library.enable_truncation(2)
    library.enable_padding(length=50)
    ours = load_tokenizer(write_model(tmp_path, library))
    assert ours.encode("the cat sat") == bpe_library.encode("the cat sat").ids


@pytest.mark.parametrize(
    "template",
    [
        "one",
        [{"name": "default", "template": "one"}, {"name": "tool_use", "template": "two"}],
        {"default": "one"},
    ],
)
def test_the_default_template_of_the_config(
    bpe_library: LibraryTokenizer, tmp_path: Path, template: object
) -> None:
    write_model(tmp_path, bpe_library, tokenizer_config={"chat_template": template})
    assert load_tokenizer(tmp_path).apply_chat_template(QUESTION) == "one"


def test_a_template_file_goes_before_the_config(bpe_library: LibraryTokenizer, tmp_path: Path) -> None:
    write_model(tmp_path, bpe_library, tokenizer_config={"chat_template": "one"})
    (tmp_path / "chat_template.jinja").write_text("两{{ eos_token }}", encoding="utf-8")
    assert load_tokenizer(tmp_path).apply_chat_template(QUESTION) == "两"


def test_the_older_layout_of_special_tokens(bpe_library: LibraryTokenizer, tmp_path: Path) -> None:
    write_model(
        tmp_path,
        bpe_library,
        tokenizer_config={"chat_template": "{{ bos_token }}|{{ eos_token }}"},
        special_tokens_map={"bos_token": "<s>", "eos_token": {"content": "</s>"}},
    )
    ours = load_tokenizer(tmp_path)
    assert ours.apply_chat_template(QUESTION) == "<s>|</s>"
    assert ours.eos_token_id == bpe_library.token_to_id("</s>")


def test_without_a_template_only_prompts_work(bpe_library: LibraryTokenizer, tmp_path: Path) -> None:
    ours = load_tokenizer(write_model(tmp_path, bpe_library))
    assert ours.encode("the")
    with pytest.raises(ChatTemplateError, match=r"no chat template.*prompt"):
        ours.apply_chat_template(QUESTION)


def test_ids_beyond_the_tokenizer_are_the_models_padding(
    bpe_library: LibraryTokenizer, tmp_path: Path
) -> None:
    ours = load_tokenizer(write_model(tmp_path, bpe_library, config={"vocab_size": 512}))
    assert 511 in ours and ours.decode([511]) == ""
    assert 512 not in ours


@pytest.mark.parametrize(
    ("generation", "config", "expected"),
    [
        ({"eos_token_id": [2, 4]}, {"eos_token_id": 0}, {0, 2, 4}),
        ({"eos_token_id": 2}, {"eos_token_id": [0, 4]}, {0, 2, 4}),
        ({}, {}, {2}),
        ({"eos_token_id": None}, {"text_config": {"eos_token_id": 4}}, {2, 4}),
        ({"eos_token_id": [2, 99999, -1, "x", True]}, {"text_config": None}, {2}),
    ],
)
def test_case_b7_every_id_that_ends_an_answer_counts(
    bpe_library: LibraryTokenizer,
    tmp_path: Path,
    generation: dict[str, Any],
    config: dict[str, Any],
    expected: set[int],
) -> None:
    write_model(
        tmp_path,
        bpe_library,
        generation_config=generation,
        config=config,
        tokenizer_config={"eos_token": "<|im_end|>"},
    )
    assert bpe_library.token_to_id("<|im_end|>") == 2
    assert load_eos_token_ids(tmp_path, load_tokenizer(tmp_path)) == expected


def test_no_end_at_all(bpe_library: LibraryTokenizer, tmp_path: Path) -> None:
    assert load_eos_token_ids(tmp_path, Tokenizer(bpe_library)) == frozenset()


def test_other_formats_go_through_transformers(tmp_path: Path) -> None:
    from minisgl_tutor.tokenizer.pieces import byte_letters

    vocab = {letter: token for token, letter in enumerate(byte_letters())}
    (tmp_path / "vocab.json").write_text(json.dumps({**vocab, "ab": 256, "<|endoftext|>": 257}))
    (tmp_path / "merges.txt").write_text("#version: 0.2\na b\n")
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps(
            {"tokenizer_class": "GPT2Tokenizer", "chat_template": "{{ messages[0].content }}{{ eos_token }}"}
        )
    )
    ours = load_tokenizer(tmp_path)
    assert ours.encode("ab") == [256]
    assert ours.decode([256, 257]) == "ab"
    assert ours.apply_chat_template(QUESTION) == "hi<|endoftext|>"
    assert load_eos_token_ids(tmp_path, ours) == {257}


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(TokenizerNotFound, match=r"there is no model at .*missing; give a model directory"):
        load_tokenizer(tmp_path / "missing")


def test_a_directory_without_a_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(TokenizerNotFound, match=r"has no tokenizer\.json, and transformers finds no other"):
        load_tokenizer(tmp_path)


def test_without_transformers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(TokenizerNotFound, match=r"needs transformers: `minisgl-tutor doctor`"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json", "config.json"])
def test_a_broken_file_is_named(bpe_library: LibraryTokenizer, tmp_path: Path, name: str) -> None:
    write_model(tmp_path, bpe_library)
    (tmp_path / name).write_text("{")
    with pytest.raises(TokenizerNotFound, match=name):
        load_tokenizer(tmp_path)
