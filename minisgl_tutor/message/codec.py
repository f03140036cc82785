"""MessagePack encoding of the messages: a closed set of types, decoded strictly, never pickle."""

from __future__ import annotations

import msgspec

from .backend import BackendMsg, BatchBackendMsg
from .frontend import BatchFrontendMsg, Reply
from .tokenizer import BatchTokenizerMsg, TokenizerMsg

Single = TokenizerMsg | BackendMsg | Reply
"""A message by itself, as its receiver handles it."""

Message = Single | BatchTokenizerMsg | BatchBackendMsg | BatchFrontendMsg
"""Whatever is one frame of a link."""

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Message)


class MalformedMessage(ValueError):
    """A frame that is not one of the known messages."""


def encode(msg: Message) -> bytes:
    """The frame of ``msg``.

    Raises:
        MalformedMessage: a field holds what MessagePack cannot carry (an integer
            beyond 64 bits, a lone surrogate).
    """
    try:
        return _encoder.encode(msg)
    except (OverflowError, TypeError, ValueError, UnicodeEncodeError, RecursionError) as error:
        raise MalformedMessage(f"{type(msg).__name__} cannot be encoded: {error}") from error


def decode(frame: bytes) -> Message:
    """The message of a frame.

    Raises:
        MalformedMessage: not MessagePack, an unknown type, a missing or wrong field.
    """
    try:
        return _decoder.decode(frame)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedMessage(f"frame of {len(frame)} bytes: {error}") from error


def unwrap(msg: Message) -> list[Single]:
    """A single message or a batch, as one flat list (C5.18, C2.32)."""
    if isinstance(msg, BatchTokenizerMsg | BatchBackendMsg | BatchFrontendMsg):
        return list(msg.data)
    return [msg]
