"""Chunks that leave together are those of their form, one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minisgl_tutor.gaps.reference_wire import ReferenceForm
from minisgl_tutor.message import ScoredText, TextLogprobs
from minisgl_tutor.server.openai.answer import ResponseForm
from minisgl_tutor.server.openai.chunks import ChunksTogether
from minisgl_tutor.server.openai.sse import event

SCORED = (TextLogprobs(ScoredText("a", b"a", -0.5)),)
TEXTS = st.text(max_size=3) | st.sampled_from(["", "\0", '"', "\\u0000", "\n\n", "\u2028", "👋"])


def forms(name: str, chat: bool, include_usage: bool) -> list[ResponseForm]:
    form = ResponseForm("x", 0, name, chat, include_usage)
    return [form, ReferenceForm(3, form)]


@pytest.mark.parametrize("name", ["toy", '"\\u0000"', "模型"])
@given(
    pieces=st.lists(st.tuples(TEXTS, st.sampled_from([(), SCORED])), max_size=6),
    chat=st.booleans(),
    include_usage=st.booleans(),
)
def test_they_read_as_if_each_were_written_by_itself(
    name: str, pieces: list[tuple[str, tuple[TextLogprobs, ...]]], chat: bool, include_usage: bool
) -> None:
    alone, together = forms(name, chat, include_usage), forms(name, chat, include_usage)
    for one, form in zip(alone, together, strict=True):
        written = ChunksTogether(form)
        for place, (text, logprobs) in enumerate(pieces):
            written.add(text, place == 0, logprobs)
        expected = [event(one.chunk(text, place == 0, scores)) for place, (text, scores) in enumerate(pieces)]
        assert written.take() == b"".join(expected)
        assert written.take() == b""
