"""A stream joins to the whole answer, whatever is written, torn apart and stopped at."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

EOS = 256
PIECES = ["你好", "नमस्ते", "שלום", "👋🏽", "👨‍👩‍👧", "e\u0301", "a", "ab", "b", "\n\n", "\n", "."]
texts = st.lists(st.sampled_from(PIECES), min_size=1, max_size=3).map(lambda pieces: "".join(pieces)[:5])


@settings(max_examples=200)
@given(
    spelled=texts,
    torn=st.integers(0, 3),
    stop=st.lists(texts.map(lambda text: text[:3]), max_size=3),
    ends=st.booleans(),
)
def test_a_stream_joins_to_the_whole_answer(serving, events, spelled, torn, stop, ends):
    async def main(it):
        limit = len(script) + (1 if ends else 0)
        whole = json.loads((await it.answer(stop=stop, max_tokens=limit)).body)
        streamed = await it.answer(
            stop=stop, max_tokens=limit, stream=True, stream_options={"include_usage": True}
        )
        *chunks, end, usage, _ = events(streamed)
        choice = whole["choices"][0]
        assert (
            "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks)
            == (choice["message"]["content"])
        )
        assert end["choices"][0]["finish_reason"] == choice["finish_reason"]
        assert usage["usage"]["completion_tokens"] == whole["usage"]["completion_tokens"]

    data = spelled.encode()
    script = list(data[: len(data) - torn] or data)
    tokens = [*script, EOS] if ends else script
    serving(main, {0: tokens, 1: tokens})
