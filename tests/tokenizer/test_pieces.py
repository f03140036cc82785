"""The bytes of tokens, and which of them begin a character that is still to come."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import decoders, models, pre_tokenizers

from minisgl_tutor.tokenizer.pieces import (
    ByteFallbackDecoder,
    ByteLevelDecoder,
    LibraryDecoder,
    byte_letters,
    token_decoder,
    unfinished_bytes,
)

# The last byte of a character is free in its low six bits, so every 64th code point shows all beginnings.
BEGINNINGS = {
    encoded[:length]
    for point in range(0x80, 0x110000, 64)
    if not 0xD800 <= point < 0xE000
    for encoded in [chr(point).encode()]
    for length in range(1, len(encoded))
}


def beginning_at_the_end(data: bytes) -> int:
    return max((n for n in (1, 2, 3) if data[len(data) - n :] in BEGINNINGS and n <= len(data)), default=0)


def test_unfinished_bytes_are_the_proper_beginnings_of_characters() -> None:
    for length in (0, 1, 2):
        for data in map(bytes, product(range(256), repeat=length)):
            assert unfinished_bytes(data) == beginning_at_the_end(data), data


@given(st.binary(max_size=3), st.text(max_size=2), st.integers(0, 4))
def test_unfinished_bytes_after_anything(garbage: bytes, text: str, cut: int) -> None:
    data = garbage + text.encode("utf-8", "replace")
    data = data[: len(data) - cut]
    assert unfinished_bytes(data) == beginning_at_the_end(data)


def test_an_encoded_surrogate_is_no_beginning_of_a_character() -> None:
    assert unfinished_bytes(b"\xed\xa0") == 0
    assert unfinished_bytes(b"\xed\x9f") == 2


def test_the_alphabet_is_the_librarys() -> None:
    assert set(byte_letters()) == set(pre_tokenizers.ByteLevel.alphabet())
    letters = {byte: letter for letter, byte in byte_letters().items()}
    for character in ("a", "é", "我", "👋", "\n", "\x00"):
        split = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str(character)
        assert split[0][0] == "".join(letters[byte] for byte in character.encode())


def test_each_kind_of_tokenizer_gets_its_decoder(
    byte_library: LibraryTokenizer,
    fallback_library: LibraryTokenizer,
    wordpiece_library: LibraryTokenizer,
    metaspace_library: LibraryTokenizer,
) -> None:
    assert isinstance(token_decoder(byte_library), ByteLevelDecoder)
    assert isinstance(token_decoder(fallback_library), ByteFallbackDecoder)
    assert isinstance(token_decoder(wordpiece_library), LibraryDecoder)
    assert isinstance(token_decoder(metaspace_library), LibraryDecoder)
    assert isinstance(token_decoder(LibraryTokenizer(models.BPE())), LibraryDecoder)


@pytest.mark.parametrize(
    "steps",
    [
        [decoders.ByteFallback(), decoders.Metaspace()],
        [decoders.ByteFallback(), decoders.Replace("▁", " ")],
        [decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 0, 1)],
    ],
)
def test_byte_fallback_among_other_steps_is_left_to_the_library(steps: list[decoders.Decoder]) -> None:
    library = LibraryTokenizer(models.BPE())
    library.decoder = decoders.Sequence(steps)
    assert isinstance(token_decoder(library), LibraryDecoder)


@given(data=st.data())
def test_byte_level_decodes_as_the_library_does(byte_library: LibraryTokenizer, data: st.DataObject) -> None:
    ids = data.draw(st.lists(st.integers(0, 259).filter(lambda token: token not in (256, 257, 258))))
    assert token_decoder(byte_library).decode(ids) == byte_library.decode(ids)


def test_an_invalid_byte_spoils_no_neighbour(fallback_library: LibraryTokenizer) -> None:
    # The library's ByteFallback turns all seven bytes into U+FFFD, as one run that is not valid as a whole.
    run = [3 + byte for byte in b"\xe6\x88\x91\xff\xe5\xbe\n"]
    assert fallback_library.decode(run) == "\ufffd" * 7
    assert token_decoder(fallback_library).decode(run) == "我\ufffd\ufffd\ufffd\n"


def test_an_id_without_a_token_is_empty(
    byte_library: LibraryTokenizer, wordpiece_library: LibraryTokenizer
) -> None:
    assert token_decoder(byte_library).is_empty(5000)
    assert token_decoder(wordpiece_library).is_empty(5000)
    assert not token_decoder(byte_library).is_empty(65)
