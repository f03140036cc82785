"""What each token stands for, and how the pieces of several tokens make a text.

The ``tokenizers`` library decodes whole sequences. A stream needs more: which
bytes at the end are the beginning of a character that has not come yet. For the
two decoders that split characters over tokens (byte-level BPE, and byte fallback
as SentencePiece has it) the bytes of a token are known, so that question has an
exact answer and decoding costs a dictionary look-up a token. All other decoders
go through the library.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from tokenizers import Tokenizer as LibraryTokenizer

from ..panics import panics_as_errors

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
LONGEST_UNFINISHED = 3

_FALLBACK_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")


class PlainText(NamedTuple):
    """What a token of whole characters reads as, ``alone`` and ``behind`` other whole characters."""

    alone: str
    behind: str


class TokenDecoder(Protocol):
    """Text of token ids. Special tokens are left out beforehand."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ``ids``; bytes that make no character become U+FFFD."""
        ...

    def unfinished(self, ids: Sequence[int]) -> int:
        """How many U+FFFD at the end of the text stand for a character that may still be completed."""
        ...

    def is_empty(self, token: int) -> bool:
        """Whether the token stands for nothing at all."""
        ...

    def plain(self, token: int) -> PlainText | None:
        """Its text, if it is the same behind whatever whole characters; None if that is not known."""
        ...

    def bytes_of(self, token: int) -> bytes:
        """What the token by itself stands for, wherever it is; a special one for its name."""
        ...


class Pieces(dict[int, bytes]):
    """The bytes of each token, worked out when the token is first seen."""

    def __init__(self, tokenizer: LibraryTokenizer, to_bytes: Callable[[str], bytes]) -> None:
        super().__init__()
        self._tokenizer = tokenizer
        self._to_bytes = to_bytes

    def __missing__(self, token: int) -> bytes:
        piece = self._tokenizer.id_to_token(token)
        # A model may have more ids than its tokenizer has tokens: padding, which stands for nothing.
        self[token] = data = b"" if piece is None else self._to_bytes(piece)
        return data

    def plain(self, token: int) -> str | None:
        """The token as text, if it has whole characters."""
        try:
            return self[token].decode()
        except UnicodeDecodeError:
            return None

    def join(self, ids: Sequence[int]) -> bytes:
        return b"".join([self[token] for token in ids])

    def is_empty(self, token: int) -> bool:
        return not self[token]


class ByteLevelDecoder:
    """Byte-level BPE: each letter of a token is one byte."""

    def __init__(self, tokenizer: LibraryTokenizer) -> None:
        letters = byte_letters()

        def to_bytes(piece: str) -> bytes:
            try:
                return bytes([letters[letter] for letter in piece])
            except KeyError:  # an added token, kept as it is written
                return piece.encode()

        self._pieces = Pieces(tokenizer, to_bytes)
        self.is_empty = self._pieces.is_empty
        self.bytes_of = self._pieces.__getitem__

    def decode(self, ids: Sequence[int]) -> str:
        return self._pieces.join(ids).decode("utf-8", "replace")

    def unfinished(self, ids: Sequence[int]) -> int:
        return 1 if unfinished_bytes(self._pieces.join(ids)) else 0  # one mark for all its bytes

    def plain(self, token: int) -> PlainText | None:
        text = self._pieces.plain(token)
        return None if text is None else PlainText(text, text)


class ByteFallbackDecoder:
    """SentencePiece's way: pieces of text, and ``<0xE6>`` for a byte of a character that has no piece.

    An invalid byte becomes one U+FFFD and spoils nothing else, as in
    SentencePiece itself. (The library's own decoder gives up all the neighbouring
    byte tokens with it, characters that were complete included.)
    """

    def __init__(self, tokenizer: LibraryTokenizer, replacements: list[tuple[str, str]], strip: str) -> None:
        def to_bytes(piece: str) -> bytes:
            for old, new in replacements:
                piece = piece.replace(old, new)
            byte = _FALLBACK_BYTE.fullmatch(piece)
            return bytes([int(byte[1], 16)]) if byte else piece.encode()

        self._pieces = Pieces(tokenizer, to_bytes)
        self._strip = strip
        self.is_empty = self._pieces.is_empty
        self.bytes_of = self._pieces.__getitem__

    def decode(self, ids: Sequence[int]) -> str:
        text = self._pieces.join(ids).decode("utf-8", "surrogateescape")
        text = _ESCAPED_BYTE.sub(REPLACEMENT, text)
        for space in self._strip:
            text = text.removeprefix(space)
        return text

    def unfinished(self, ids: Sequence[int]) -> int:
        return unfinished_bytes(self._pieces.join(ids))  # one mark for each byte

    def plain(self, token: int) -> PlainText | None:
        text = self._pieces.plain(token)
        return None if text is None else PlainText(self.decode([token]), text)


class LibraryDecoder:
    """Any other decoder. It cannot tell whether a U+FFFD at the end is meant, so that waits for more."""

    def __init__(self, tokenizer: LibraryTokenizer) -> None:
        self._tokenizer = tokenizer

    @panics_as_errors()
    def decode(self, ids: Sequence[int]) -> str:
        return self._tokenizer.decode(list(ids), skip_special_tokens=True)

    def unfinished(self, ids: Sequence[int]) -> int:
        text = self.decode(ids)
        return min(len(text) - len(text.rstrip(REPLACEMENT)), LONGEST_UNFINISHED)

    def is_empty(self, token: int) -> bool:
        return self._tokenizer.id_to_token(token) is None

    def plain(self, token: int) -> PlainText | None:
        return None

    @panics_as_errors()
    def bytes_of(self, token: int) -> bytes:
        return self._tokenizer.decode([token], skip_special_tokens=False).encode()


def token_decoder(tokenizer: LibraryTokenizer) -> TokenDecoder:
    """The decoder that fits the tokenizer's own."""
    steps = _decoder_steps(tokenizer)
    kinds = [step["type"] for step in steps]
    if kinds == ["ByteLevel"]:
        return ByteLevelDecoder(tokenizer)
    if "ByteFallback" in kinds and _is_sentencepiece(steps):
        replacements = [(s["pattern"]["String"], s["content"]) for s in steps if s["type"] == "Replace"]
        strip = "".join(s["content"] * s["start"] for s in steps if s["type"] == "Strip")
        return ByteFallbackDecoder(tokenizer, replacements, strip)
    return LibraryDecoder(tokenizer)


def unfinished_bytes(data: bytes) -> int:
    """How many bytes at the end of ``data`` begin a character that more bytes could complete (0 to 3)."""
    end = data[-LONGEST_UNFINISHED:]
    _, consumed = codecs.utf_8_decode(end, "ignore", False)
    tail = end[consumed:]
    # Python still waits here for the third byte of an encoded surrogate, which is no character.
    if tail[:1] == b"\xed" and tail[1:2] >= b"\xa0":
        return 0
    return len(tail)


def byte_letters() -> dict[str, int]:
    """The alphabet of byte-level BPE: printable Latin-1 stands for itself, the rest begins at U+0100."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + i): byte for i, byte in enumerate(others)}


def _decoder_steps(tokenizer: LibraryTokenizer) -> list[dict[str, Any]]:
    if tokenizer.decoder is None:
        return []
    description = json.loads(tokenizer.decoder.__getstate__())
    steps: list[dict[str, Any]] = description.get("decoders", [description])
    return steps


def _is_sentencepiece(steps: list[dict[str, Any]]) -> bool:
    """Replace strings, byte fallback, fuse, strip the beginning, in this order: the pieces tell all."""
    order = ["Replace", "ByteFallback", "Fuse", "Strip"]
    ranks = [order.index(step["type"]) if step["type"] in order else -1 for step in steps]
    return (
        -1 not in ranks
        and ranks == sorted(ranks)
        and all("String" in step["pattern"] for step in steps if step["type"] == "Replace")
        and all(step["stop"] == 0 for step in steps if step["type"] == "Strip")
    )
