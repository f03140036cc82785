"""How a text is cut for search in Chinese."""

from __future__ import annotations

import pytest
from tutor_site.search import HAN, SearchPairs


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("取消请求", ["取", "消", "请", "求", "取消", "消请", "请求"]),
        ("页", ["页"]),
        ("KV缓存 ack_map", ["KV", "缓", "存", "缓存", "ack_map"]),
        ("“停”，走", ["停", "走"]),
    ],
)
def test_pairs_of_characters_and_whole_words(text: str, terms: list[str]) -> None:
    assert SearchPairs({}).split(text) == terms


def test_the_browser_takes_the_same_characters_for_chinese() -> None:
    assert f"[{HAN}]+" in SearchPairs.js_splitter_code
