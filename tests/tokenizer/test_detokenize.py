"""Text out of tokens, piece by piece: nothing lost, nothing early, nothing kept."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import decoders, models

from minisgl_tutor.message import DetokenizeMsg, ErrorReply, FinishReason, Usage, UserReply
from minisgl_tutor.tokenizer.detokenize import DetokenizeManager, find_printable_text
from minisgl_tutor.tokenizer.pieces import REPLACEMENT, byte_letters
from minisgl_tutor.tokenizer.tokenizer import Tokenizer

FIRST_WORD = 259
EOS, EOT = 256, 257
TEXTS = ["我很好", "नमस्ते दुनिया", "שלום", "👨‍👩‍👧‍👦 and 👋🏽", "e\u0301", "ab\ufffdc", "\ufffd", "plain"]


def pieces_of(
    tokenizer: Tokenizer, ids: Sequence[int], reason: FinishReason = "length", uid: int = 0
) -> list[str]:
    """The text that each token brings; the last one finishes."""
    manager = DetokenizeManager(tokenizer)
    pieces = []
    for place, token in enumerate(ids):
        last = place == len(ids) - 1
        msg = DetokenizeMsg(uid=uid, next_token=token, finished=last, finish_reason=reason if last else None)
        (reply,) = manager.detokenize([msg])
        assert isinstance(reply, UserReply)
        pieces.append(reply.incremental_output)
    assert manager.held() == {}
    return pieces


# -- the text


@pytest.mark.parametrize("text", TEXTS)
def test_a_character_comes_with_the_byte_that_completes_it(byte_tokenizer: Tokenizer, text: str) -> None:
    expected = [piece for character in text for piece in [""] * (len(character.encode()) - 1) + [character]]
    assert pieces_of(byte_tokenizer, list(text.encode())) == expected


def test_case_b1_chinese_characters_of_three_tokens(byte_tokenizer: Tokenizer) -> None:
    ids = [230, 136, 145, 229, 190, 136, 229, 165, 189]
    assert pieces_of(byte_tokenizer, ids) == ["", "", "我", "", "", "很", "", "", "好"]


@pytest.mark.parametrize(
    ("ids", "reason", "text"),
    [
        ([240, 159, 145], "length", REPLACEMENT),
        ([240, 159, 145, 139], "length", "👋"),
        ([240, 159, 145, EOS], "stop", REPLACEMENT),
        ([240, 159, 145, 139, EOS], "stop", "👋"),
    ],
)
def test_case_b3_an_end_within_a_character(
    byte_tokenizer: Tokenizer, ids: list[int], reason: FinishReason, text: str
) -> None:
    assert "".join(pieces_of(byte_tokenizer, ids, reason)) == text


@pytest.mark.parametrize(
    ("words", "text"),
    [([0, 1, 2, 6, 7], "Daenerys is the Khaleesi"), ([3, 0, 4], " Daenerys x"), ([9, 9, 8], "   ABC")],
)
def test_case_b4_a_leading_space_is_taken_off_once(
    fallback_tokenizer: Tokenizer, fallback_library: LibraryTokenizer, words: list[int], text: str
) -> None:
    ids = [FIRST_WORD + word for word in words]
    assert fallback_library.decode(ids) == text
    assert "".join(pieces_of(fallback_tokenizer, ids)) == text


def test_case_b7_special_tokens_are_no_text(byte_tokenizer: Tokenizer) -> None:
    assert pieces_of(byte_tokenizer, [72, 105, EOT], "stop") == ["H", "i", ""]
    assert "".join(pieces_of(byte_tokenizer, [72, 105, EOT, 33, EOS, 63], "length")) == "Hi!?"


def test_a_finishing_token_is_left_out_even_if_it_is_plain_text(byte_tokenizer: Tokenizer) -> None:
    assert pieces_of(byte_tokenizer, [65, 66], "stop") == ["A", ""]
    assert pieces_of(byte_tokenizer, [65, 66], "length") == ["A", "B"]


def test_a_replacement_character_that_is_meant_does_not_wait(fallback_tokenizer: Tokenizer) -> None:
    assert pieces_of(fallback_tokenizer, [FIRST_WORD + 10, FIRST_WORD + 8]) == [REPLACEMENT, "ABC"]


def test_bytes_that_can_become_no_character_do_not_wait(byte_tokenizer: Tokenizer) -> None:
    assert pieces_of(byte_tokenizer, [0xFF, 0x80, 65]) == [REPLACEMENT, REPLACEMENT, "A"]
    assert pieces_of(byte_tokenizer, [0xE5, 0xE6, 65]) == ["", REPLACEMENT, REPLACEMENT + "A"]


def test_what_comes_before_an_unfinished_character_in_its_token_does_not_wait() -> None:
    letters = {byte: letter for letter, byte in byte_letters().items()}
    tokens = [b"A\xf0\x9f", b"\x91\x8b\xe6\x88", b"\x91B"]  # A, a waving hand, a Chinese character, B
    vocab = {"".join(letters[byte] for byte in token): place for place, token in enumerate(tokens)}
    library = LibraryTokenizer(models.BPE(vocab=vocab, merges=[]))
    library.decoder = decoders.ByteLevel()
    assert pieces_of(Tokenizer(library), [0, 1, 2]) == ["A", "👋", "我B"]


def test_a_bad_byte_spoils_no_neighbour(fallback_tokenizer: Tokenizer) -> None:
    ids = [3 + byte for byte in b"\xe6\x88\x91\xe6\n"]
    assert pieces_of(fallback_tokenizer, ids) == ["", "", "我", "", REPLACEMENT + "\n"]


def test_a_special_token_within_a_character_changes_nothing(
    byte_tokenizer: Tokenizer, fallback_tokenizer: Tokenizer
) -> None:
    assert pieces_of(byte_tokenizer, [0xE6, EOT, 0x88, 0x91]) == ["", "", "", "我"]
    assert pieces_of(fallback_tokenizer, [FIRST_WORD + 8, 1, FIRST_WORD + 4]) == ["ABC", "", " x"]


def test_an_id_that_only_pads_the_vocabulary_has_no_text(byte_library: LibraryTokenizer) -> None:
    assert pieces_of(Tokenizer(byte_library, vocab_size=512), [65, 500, 66]) == ["A", "", "B"]


@given(data=st.data())
def test_pieces_join_to_the_full_text_byte_level(
    byte_tokenizer: Tokenizer, bpe_tokenizer: Tokenizer, data: st.DataObject
) -> None:
    for tokenizer in (byte_tokenizer, bpe_tokenizer):
        parts = st.sampled_from(
            [byte_token(tokenizer, byte) for byte in (0xE0, 0xE5, 0xED, 0xA0, 0xF0, 0x9F)]
        )
        tokens = parts | st.integers(0, tokenizer.vocab_size - 1)
        ids = data.draw(st.lists(tokens, min_size=1, max_size=16))
        full = tokenizer._library.decode(ids, skip_special_tokens=True)
        pieces = pieces_of(tokenizer, ids)
        assert "".join(pieces) == full
        assert sum(piece.count(REPLACEMENT) for piece in pieces) == full.count(REPLACEMENT)


@given(data=st.data())
def test_pieces_join_to_the_full_text_byte_fallback(
    fallback_tokenizer: Tokenizer, fallback_library: LibraryTokenizer, data: st.DataObject
) -> None:
    words = st.integers(FIRST_WORD, FIRST_WORD + 10).map(lambda token: [token])
    specials = st.sampled_from([[1], [2]])
    spelled = st.text(max_size=3).map(lambda text: [3 + byte for byte in text.encode("utf-8", "replace")])
    ids = list(chain.from_iterable(data.draw(st.lists(words | specials | spelled, max_size=12))))
    assert "".join(pieces_of(fallback_tokenizer, ids)) == fallback_library.decode(ids)


@given(
    ids=st.lists(st.integers(1, FIRST_WORD + 10) | st.sampled_from([3 + byte for byte in "我é\n".encode()]))
)
def test_bytes_in_any_order_read_the_same_in_pieces(fallback_tokenizer: Tokenizer, ids: list[int]) -> None:
    assert "".join(pieces_of(fallback_tokenizer, ids)) == fallback_tokenizer.decode(ids)


@given(data=st.data())
def test_pieces_join_to_the_full_text_other_decoders(
    wordpiece_library: LibraryTokenizer, metaspace_library: LibraryTokenizer, data: st.DataObject
) -> None:
    for library in (wordpiece_library, metaspace_library):
        ids = data.draw(st.lists(st.integers(0, library.get_vocab_size() - 1), min_size=1, max_size=12))
        assert "".join(pieces_of(Tokenizer(library), ids)) == library.decode(ids)


@given(data=st.lists(st.sampled_from(list(b"A\x80\x9f\xa0\xbf\xbd\xc3\xe0\xed\xef\xf0\xf4\xff"))))
def test_only_what_may_still_change_is_held_back(byte_tokenizer: Tokenizer, data: list[int]) -> None:
    """After each byte, all is out that is the same however the stream goes on."""
    manager = DetokenizeManager(byte_tokenizer)
    sent = ""
    for place, byte in enumerate(data):
        (reply,) = manager.detokenize([DetokenizeMsg(uid=0, next_token=byte)])
        assert isinstance(reply, UserReply)
        sent += reply.incremental_output
        begun = bytes(data[: place + 1])
        futures = [b"A", *(bytes([byte]) * n for byte in (0x80, 0xBF) for n in (1, 2, 3))]
        assert sent == common_beginning([(begun + rest).decode("utf-8", "replace") for rest in futures])


def test_the_cost_of_a_token_does_not_grow(byte_library: LibraryTokenizer) -> None:
    tokenizer = Tokenizer(byte_library)
    decoded = 0
    decode = tokenizer.decoder.decode

    class Counting:
        unfinished = tokenizer.decoder.unfinished
        is_empty = tokenizer.decoder.is_empty
        plain = tokenizer.decoder.plain

        def decode(self, ids: Sequence[int]) -> str:
            nonlocal decoded
            decoded += len(ids)
            return decode(ids)

    tokenizer.decoder = Counting()
    streams = {
        "plain text": [65] * 1000,
        "characters of four bytes": list("👋".encode()) * 250,
        "beginnings only": [0xE5] * 1000,
        "nonsense": [0xF0, 0x9F, 0xE5, 0x80, 0x80] * 200,
        "special tokens within a character": [0xE5, *[EOT] * 998, 0xE5],
    }
    for name, ids in streams.items():
        decoded = 0
        pieces_of(tokenizer, ids)
        assert decoded <= 6 * len(ids), name
        if name == "plain text":
            assert decoded <= 6, "behind whole characters a token of whole characters is looked up"


def test_find_printable_text_leaves_out_the_unfinished_end() -> None:
    assert find_printable_text("ab" + REPLACEMENT, 1) == "ab"
    assert find_printable_text("ab" + REPLACEMENT, 0) == "ab" + REPLACEMENT
    assert find_printable_text("", 0) == ""


# -- the state


def test_streams_do_not_mix(byte_tokenizer: Tokenizer) -> None:
    texts = {uid: text for uid, text in enumerate(TEXTS)}
    manager = DetokenizeManager(byte_tokenizer)
    sent = dict.fromkeys(texts, "")
    for place in range(max(len(text.encode()) for text in TEXTS)):
        msgs = [
            DetokenizeMsg(uid=uid, next_token=text.encode()[place])
            for uid, text in texts.items()
            if place < len(text.encode())
        ]
        for reply in manager.detokenize(msgs):
            assert isinstance(reply, UserReply)
            sent[reply.uid] += reply.incremental_output
    assert sent == texts


def test_several_tokens_of_one_request_in_one_batch(byte_tokenizer: Tokenizer) -> None:
    manager = DetokenizeManager(byte_tokenizer)
    replies = manager.detokenize(
        [
            DetokenizeMsg(uid=3, next_token=0xC3),
            DetokenizeMsg(uid=3, next_token=0xA9),
            DetokenizeMsg(uid=3, next_token=EOS, finished=True, finish_reason="stop"),
        ]
    )
    assert [reply.incremental_output for reply in replies if isinstance(reply, UserReply)] == ["", "é", ""]
    assert [reply.finished for reply in replies] == [False, False, True]


def test_the_finish_clears_the_state_and_passes_on_reason_and_usage(byte_tokenizer: Tokenizer) -> None:
    manager = DetokenizeManager(byte_tokenizer)
    manager.detokenize([DetokenizeMsg(uid=7, next_token=65), DetokenizeMsg(uid=7, next_token=66)])
    assert manager.held() == {7: {"decode_map": 2}}
    usage = Usage(prompt_tokens=5, completion_tokens=3, cached_tokens=4)
    finish = DetokenizeMsg(uid=7, next_token=67, finished=True, finish_reason="length", usage=usage)
    assert manager.detokenize([finish]) == [UserReply(7, "C", True, "length", usage)]
    assert manager.held() == {}


def test_an_abort_clears_the_state_without_a_word(byte_tokenizer: Tokenizer) -> None:
    manager = DetokenizeManager(byte_tokenizer)
    manager.detokenize([DetokenizeMsg(uid=7, next_token=0xE6)])
    replies = manager.detokenize([DetokenizeMsg(uid=7, finished=True, finish_reason="abort")])
    assert replies == [UserReply(7, "", True, "abort")]
    assert manager.held() == {}


def test_a_finish_without_a_token_flushes_what_was_held_back(byte_tokenizer: Tokenizer) -> None:
    manager = DetokenizeManager(byte_tokenizer)
    manager.detokenize([DetokenizeMsg(uid=7, next_token=0xE6)])
    assert manager.detokenize([DetokenizeMsg(uid=7, finished=True)]) == [UserReply(7, REPLACEMENT, True)]


def test_an_error_of_the_scheduler_clears_the_state_and_passes_through(byte_tokenizer: Tokenizer) -> None:
    manager = DetokenizeManager(byte_tokenizer)
    error = ErrorReply(uid=7, message="the engine failed")
    assert manager.detokenize([DetokenizeMsg(uid=7, next_token=65), error])[1] is error
    assert manager.held() == {}


def test_case_b8_a_used_uid_begins_anew_and_nothing_is_kept(byte_tokenizer: Tokenizer) -> None:
    manager = DetokenizeManager(byte_tokenizer)
    texts = []
    for text in ("abc", "xyz"):
        *begin, last = text.encode()
        msgs = [DetokenizeMsg(uid=1, next_token=token) for token in begin]
        replies = manager.detokenize([*msgs, DetokenizeMsg(uid=1, next_token=last, finished=True)])
        texts.append("".join(reply.incremental_output for reply in replies if isinstance(reply, UserReply)))
    assert texts == ["abc", "xyz"]
    for uid in range(1000):
        manager.detokenize([DetokenizeMsg(uid=uid, next_token=0xE6)])
    manager.detokenize([DetokenizeMsg(uid=uid, finished=True, finish_reason="abort") for uid in range(1000)])
    assert manager.held() == {}


@pytest.mark.parametrize("token", [-1, 260, 2**40, -(2**60)])
def test_a_token_that_is_none_ends_its_request_alone(
    byte_tokenizer: Tokenizer, token: int, caplog: pytest.LogCaptureFixture
) -> None:
    manager = DetokenizeManager(byte_tokenizer)
    bad, good = manager.detokenize(
        [DetokenizeMsg(uid=1, next_token=token), DetokenizeMsg(uid=2, next_token=65)]
    )
    assert isinstance(bad, ErrorReply)
    assert (bad.uid, bad.status, bad.code) == (1, 500, "detokenize_error")
    assert str(token) in bad.message
    assert good == UserReply(2, "A", False)


def test_after_its_error_a_request_stays_silent_until_its_finish(
    byte_tokenizer: Tokenizer, caplog: pytest.LogCaptureFixture
) -> None:
    manager = DetokenizeManager(byte_tokenizer)
    manager.detokenize([DetokenizeMsg(uid=1, next_token=-1)])
    assert manager.awaits_finish(1)
    assert manager.detokenize([DetokenizeMsg(uid=1, next_token=65)]) == []
    assert manager.detokenize([DetokenizeMsg(uid=1, finished=True, finish_reason="abort")]) == []
    assert not manager.awaits_finish(1)
    assert manager.held() == {}


def test_a_bad_last_token_leaves_nothing(byte_tokenizer: Tokenizer, caplog: pytest.LogCaptureFixture) -> None:
    manager = DetokenizeManager(byte_tokenizer)
    finish = DetokenizeMsg(uid=1, next_token=-1, finished=True, finish_reason="length")
    assert isinstance(manager.detokenize([finish])[0], ErrorReply)
    assert not manager.awaits_finish(1)
    assert manager.held() == {}


def common_beginning(texts: Sequence[str]) -> str:
    agreed = takewhile(lambda letters: len(set(letters)) == 1, zip(*texts, strict=False))
    return "".join(letters[0] for letters in agreed)


def byte_token(tokenizer: Tokenizer, byte: int) -> int:
    letters = {value: letter for letter, value in byte_letters().items()}
    token: int = tokenizer._library.token_to_id(letters[byte])
    return token
