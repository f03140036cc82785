"""Messages over the wire: what was sent comes back, and nothing else gets in."""

from __future__ import annotations

import contextlib
import pickle

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minisgl_tutor.message import (
    AbortBackendMsg,
    AbortMsg,
    BatchBackendMsg,
    BatchFrontendMsg,
    BatchTokenizerMsg,
    DetokenizeMsg,
    ErrorReply,
    MalformedMessage,
    SamplingParams,
    ScoredText,
    ScoredToken,
    StopStringsMsg,
    TextLogprobs,
    TokenizeMsg,
    TokenLogprobs,
    Usage,
    UserMsg,
    UserReply,
    decode,
    encode,
    unwrap,
)

uids = st.integers(0, 2**63 - 1)
texts = st.text(st.characters(exclude_categories=["Cs"]))
params = st.builds(
    SamplingParams,
    ignore_eos=st.booleans(),
    max_tokens=st.integers(1, 2**31),
    temperature=st.floats(0, 2),
    seed=st.none() | st.integers(0, 2**63 - 1),
    logit_bias=st.dictionaries(st.integers(0, 2**31), st.floats(-100, 100)),
    logprobs=st.none() | st.integers(0, 20),
    stop=st.lists(texts, max_size=4).map(tuple),
)
scored_tokens = st.builds(ScoredToken, st.integers(0, 2**31), st.floats(-9999, 0))
token_logprobs = st.builds(TokenLogprobs, scored_tokens, st.lists(scored_tokens, max_size=3).map(tuple))
scored_texts = st.builds(ScoredText, texts, st.binary(max_size=4), st.floats(-9999, 0))
text_logprobs = st.builds(TextLogprobs, scored_texts, st.lists(scored_texts, max_size=3).map(tuple))
conversations = st.lists(st.fixed_dictionaries({"role": texts, "content": texts}))
singles = st.one_of(
    st.builds(TokenizeMsg, uids, texts | conversations, params),
    st.builds(AbortMsg, uids),
    st.builds(UserMsg, uids, st.lists(st.integers(0, 2**31 - 1)), params),
    st.builds(AbortBackendMsg, uids),
    st.builds(StopStringsMsg, uids, st.lists(texts, max_size=4).map(tuple), st.builds(Usage)),
    st.builds(
        DetokenizeMsg,
        uids,
        st.none() | st.integers(0, 2**31),
        st.booleans(),
        logprobs=st.none() | token_logprobs,
    ),
    st.builds(
        UserReply,
        uids,
        texts,
        st.booleans(),
        st.none(),
        st.none() | st.builds(Usage),
        logprobs=st.lists(text_logprobs, max_size=3).map(tuple),
    ),
    st.builds(ErrorReply, uids, texts),
)


@given(singles)
def test_a_message_comes_back_as_it_was(msg):
    assert decode(encode(msg)) == msg
    assert unwrap(msg) == [msg]


def test_a_batch_keeps_its_order():
    """C2.28, C5.14, C5.18."""
    aborts = [AbortBackendMsg(uid) for uid in (3, 1, 2)]
    assert unwrap(decode(encode(BatchBackendMsg(aborts)))) == aborts
    replies = [UserReply(1, "a", False), ErrorReply(2, "no")]
    assert unwrap(decode(encode(BatchFrontendMsg(replies)))) == replies
    mixed = [DetokenizeMsg(1, 5), AbortMsg(2), ErrorReply(1, "no")]
    assert unwrap(decode(encode(BatchTokenizerMsg(mixed)))) == mixed


def test_what_nobody_asked_for_takes_no_room():
    """A request without the newer values, and a token without logprobs, are as small as before."""
    asked = encode(UserMsg(1, [2], SamplingParams(logprobs=0, min_p=0.1, stop=("a",))))
    plain = encode(UserMsg(1, [2], SamplingParams()))
    for field in (b"logprobs", b"min_p", b"stop"):
        assert field in asked and field not in plain
    assert b"logprobs" not in encode(DetokenizeMsg(1, 5)) + encode(UserReply(1, "a", False))


@given(st.binary(max_size=60))
def test_any_bytes_decode_or_are_malformed(frame):
    with contextlib.suppress(MalformedMessage):
        decode(frame)


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        pickle.dumps(AbortMsg(1).uid),
        msgspec.msgpack.encode({"type": "SystemMsg", "uid": 1}),
        msgspec.msgpack.encode({"type": "AbortMsg"}),
        msgspec.msgpack.encode({"type": "AbortMsg", "uid": "1"}),
        msgspec.msgpack.encode({"type": "BatchFrontendMsg", "data": [{"type": "AbortMsg", "uid": 1}]}),
        b"\x91" * 100_000,
    ],
)
def test_what_is_no_message_is_malformed(frame):
    with pytest.raises(MalformedMessage):
        decode(frame)


@pytest.mark.parametrize(
    "msg",
    [TokenizeMsg(1, "\ud800", SamplingParams()), TokenizeMsg(2**70, "a", SamplingParams())],
)
def test_what_cannot_travel_is_refused_by_the_sender(msg):
    with pytest.raises(MalformedMessage):
        encode(msg)
