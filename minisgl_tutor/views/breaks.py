"""Where a line may be broken that has East Asian text in it, which is written without spaces."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

from rich.cells import cell_len
from rich.text import Text

BREAK = "\x1f"
"""Stands where a line may be broken without a space. Has no width, and is not to be shown."""

NEVER_FIRST = "，。、；：？！）》」』】”’…—%"
NEVER_LAST = "（《「『【“‘"


def may_break(before: str, after: str) -> bool:
    """Whether a line may end between these two characters, neither of them a space."""
    if before in NEVER_LAST or after in NEVER_FIRST:
        return False
    return (is_wide(before) and _is_text(after)) or (_is_text(before) and is_wide(after))


def with_breaks(text: str) -> str:
    """``text`` with a :data:`BREAK` wherever it may be broken, for a library that breaks at spaces alone."""
    later = (BREAK + after if may_break(before, after) else after for before, after in pairwise(text))
    return text[:1] + "".join(later)


def is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF"


def lines_of(text: Text, width: int) -> list[Text]:
    """``text`` in lines of at most ``width`` cells, broken between words or wide characters."""
    whole = text.copy()
    whole.expand_tabs(8)
    lines = [line for part in whole.split("\n", allow_blank=True) for line in _broken(part, width)]
    for line in lines:
        line.rstrip()
    return lines


def _broken(text: Text, width: int) -> list[Text]:
    plain, places, begin, cells, may = text.plain, [], 0, 0, 0
    for place, character in enumerate(plain):
        if place > begin and (plain[place - 1].isspace() or may_break(plain[place - 1], character)):
            may = place
        size = cell_len(character)
        if cells + size > width and not character.isspace():
            begin = may if may > begin else place
            places.append(begin)
            cells = cell_len(plain[begin:place])
        cells += size
    return list(text.divide(places))


def _is_text(character: str) -> bool:
    """Not a space, and nothing that Markdown may look at; a backtick ends a word like any letter."""
    return is_wide(character) or character.isalnum() or character == "`"
