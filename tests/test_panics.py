"""A panic in Rust is an error as any other; a request to stop is not."""

from __future__ import annotations

import pytest
from tokenizers.normalizers import Precompiled

from minisgl_tutor.panics import PANICS_OF, LibraryPanic, panics_as_errors

Panic = type("PanicException", (BaseException,), {"__module__": PANICS_OF})


def test_a_panic_becomes_an_error_and_nothing_else_does() -> None:
    with pytest.raises(LibraryPanic, match="no entry found"), panics_as_errors():
        raise Panic("no entry found for key")
    for other in (KeyboardInterrupt, SystemExit, ValueError):
        with pytest.raises(other), panics_as_errors():
            raise other


def test_a_real_panic_has_the_name_that_it_is_known_by() -> None:
    damaged = Precompiled(b"\x10\0\0\0" + b"abcd" * 5)  # a trie that points outside itself
    with pytest.raises(LibraryPanic, match="index out of bounds"), panics_as_errors():
        damaged.normalize_str("x")
