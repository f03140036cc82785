"""Requests become ids one by one in a batch: what is wrong with one concerns no other."""

from __future__ import annotations

from typing import Any

import pytest
from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import models

from minisgl_tutor.message import ErrorReply, SamplingParams, TokenizeMsg
from minisgl_tutor.tokenizer.template import ChatTemplate
from minisgl_tutor.tokenizer.tokenize import TokenizeManager
from minisgl_tutor.tokenizer.tokenizer import Tokenizer

TEMPLATE = """{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endfor %}<|im_start|>assistant"""


def request(text: str | list[dict[str, Any]], uid: int = 0) -> TokenizeMsg:
    return TokenizeMsg(uid=uid, text=text, sampling_params=SamplingParams())


@pytest.fixture
def manager(bpe_library: LibraryTokenizer) -> TokenizeManager:
    return TokenizeManager(Tokenizer(bpe_library, ChatTemplate(TEMPLATE, {})))


def test_a_conversation_gets_the_template_and_a_prompt_does_not(
    manager: TokenizeManager, bpe_library: LibraryTokenizer
) -> None:
    """C2.49, C2.51: role marks in one, none in the other, and special tokens once."""
    conversation, prompt = manager.tokenize([request([{"role": "user", "content": "hi"}]), request("hi")])
    text = "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant"
    assert conversation == bpe_library.encode(text, add_special_tokens=False).ids
    assert prompt == bpe_library.encode("hi").ids
    assert prompt[0] == bpe_library.token_to_id("<s>")


def test_results_keep_the_order_of_the_messages(
    manager: TokenizeManager, bpe_library: LibraryTokenizer
) -> None:
    texts = ["the cat", "a", "什么是缓存", "the dog looked"]
    msgs: list[TokenizeMsg] = []
    for text in texts:
        msgs += [request(text), request([]), request([{"role": "user", "content": text}])]
    results = manager.tokenize(msgs)
    assert results[0::3] == [bpe_library.encode(text).ids for text in texts]
    assert all(isinstance(result, ErrorReply) for result in results[1::3])
    for text, result in zip(texts, results[2::3], strict=True):
        assert isinstance(result, list)
        assert text in bpe_library.decode(result)


@pytest.mark.parametrize(
    ("text", "code", "param", "words"),
    [
        ([], "invalid_messages", "messages", "messages is empty"),
        ([{"content": "x"}], "invalid_messages", "messages", r"messages\[0\] has no role"),
        ([{"role": 3, "content": "x"}], "invalid_messages", "messages", "has no role"),
        (
            [{"role": "user", "content": "x"}, {"role": "user"}],
            "invalid_messages",
            "messages",
            r"\[1\] has no con",
        ),
        ([{"role": "user", "content": 7}], "invalid_messages", "messages", "has no content"),
        ("half \ud83d", "invalid_text", "prompt", "lone surrogate"),
        ([{"role": "user", "content": "\udc4b"}], "invalid_text", "messages", "lone surrogate"),
    ],
)
def test_what_cannot_be_tokenized_is_an_error_of_the_client(
    manager: TokenizeManager, text: str | list[dict[str, Any]], code: str, param: str, words: str
) -> None:
    good, bad, also_good = manager.tokenize([request("a"), request(text, uid=7), request("b")])
    assert isinstance(good, list) and isinstance(also_good, list)
    assert isinstance(bad, ErrorReply)
    assert (bad.uid, bad.status, bad.code, bad.param) == (7, 400, code, param)
    with pytest.raises(AssertionError, match=words):
        raise AssertionError(bad.message)


def test_case_d4_a_template_that_refuses(bpe_library: LibraryTokenizer) -> None:
    refusing = ChatTemplate("{{ raise_exception('Only one turn, \ud800 please') }}", {})
    (reply,) = TokenizeManager(Tokenizer(bpe_library, refusing)).tokenize(
        [request([{"role": "u", "content": "x"}])]
    )
    assert isinstance(reply, ErrorReply)
    assert (reply.status, reply.code, reply.param) == (400, "chat_template_error", "messages")
    assert "Only one turn, ? please" in reply.message


def test_a_model_without_a_template_says_what_to_do(bpe_library: LibraryTokenizer) -> None:
    manager = TokenizeManager(Tokenizer(bpe_library))
    chat, prompt = manager.tokenize([request([{"role": "user", "content": "x"}]), request("x")])
    assert isinstance(chat, ErrorReply)
    assert chat.status == 400
    assert "no chat template" in chat.message and "/v1/completions" in chat.message
    assert isinstance(prompt, list)


def test_case_d1_an_empty_prompt(byte_tokenizer: Tokenizer, manager: TokenizeManager) -> None:
    (reply,) = TokenizeManager(byte_tokenizer).tokenize([request("")])
    assert isinstance(reply, ErrorReply)
    assert (reply.status, reply.code) == (400, "empty_prompt")
    (ids,) = manager.tokenize([request("")])
    assert ids == [3], "a start token makes it a prompt"


def test_a_text_that_the_library_rejects_does_not_fail_its_batch(caplog: pytest.LogCaptureFixture) -> None:
    library = LibraryTokenizer(models.WordLevel(vocab={"known": 0}, unk_token="<unk>"))
    good, bad, also_good = TokenizeManager(Tokenizer(library)).tokenize(
        [request("known"), request("unknown", uid=1), request("known")]
    )
    assert good == also_good == [0]
    assert isinstance(bad, ErrorReply)
    assert (bad.uid, bad.status, bad.code) == (1, 400, "invalid_text")


def test_nothing_to_do(manager: TokenizeManager) -> None:
    assert manager.tokenize([]) == []
