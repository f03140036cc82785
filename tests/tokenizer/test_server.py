"""One worker for both jobs, driven over links in memory; and its modules come without torch."""

from __future__ import annotations

import logging
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import pytest
from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import decoders

from minisgl_tutor.links import MemoryChannel, MemoryPull, MemoryPush
from minisgl_tutor.message import (
    AbortBackendMsg,
    AbortMsg,
    BatchBackendMsg,
    BatchFrontendMsg,
    BatchTokenizerMsg,
    DetokenizeMsg,
    ErrorReply,
    Message,
    SamplingParams,
    ScoredToken,
    TokenizeMsg,
    TokenLogprobs,
    UserMsg,
    UserReply,
    decode,
)
from minisgl_tutor.panics import PANICS_OF
from minisgl_tutor.tokenizer.detokenize import DetokenizeManager
from minisgl_tutor.tokenizer.server import TokenizeWorker
from minisgl_tutor.tokenizer.template import ChatTemplate
from minisgl_tutor.tokenizer.tokenize import TokenizeManager
from minisgl_tutor.tokenizer.tokenizer import Tokenizer

PARAMS = SamplingParams(max_tokens=9, temperature=0.5, top_k=3, top_p=0.9, ignore_eos=True, seed=4)


@dataclass
class Rig:
    """A worker, what it receives from, and what it sent in a round."""

    worker: TokenizeWorker
    inbox: MemoryChannel
    backend: MemoryChannel
    frontend: MemoryChannel

    def play(self, *msgs: Message) -> tuple[list[Message], list[Message]]:
        for msg in msgs:
            self.inbox.send(msg)
        self.worker.round(blocking=True)
        return taken(self.backend), taken(self.frontend)


def taken(channel: MemoryChannel) -> list[Message]:
    msgs = [decode(frame) for frame in channel.frames]
    channel.frames.clear()
    return msgs


@pytest.fixture
def rig(byte_library: LibraryTokenizer) -> Rig:
    inbox, backend, frontend = (MemoryChannel(name) for name in ("inbox", "backend", "frontend"))
    refusing = "{% if messages | length > 1 %}{{ raise_exception('one turn only') }}{% endif %}"
    tokenizer = Tokenizer(byte_library, ChatTemplate(refusing + "[{{ messages[0].content }}]", {}))
    worker = TokenizeWorker(
        MemoryPull(inbox),
        MemoryPush(backend),
        MemoryPush(frontend),
        TokenizeManager(tokenizer),
        DetokenizeManager(tokenizer),
    )
    return Rig(worker, inbox, backend, frontend)


def request(uid: int, text: str) -> TokenizeMsg:
    return TokenizeMsg(uid=uid, text=text, sampling_params=PARAMS)


def test_one_message_of_each_kind(rig: Rig) -> None:
    """C2.22, C5.173: what the worker does depends on the type of what it receives."""
    assert rig.play(request(1, "A")) == ([UserMsg(1, [65], PARAMS)], [])
    assert rig.play(AbortMsg(1)) == ([AbortBackendMsg(1)], [])
    assert rig.play(DetokenizeMsg(2, 66)) == ([], [UserReply(2, "B", False)])
    assert rig.play(ErrorReply(2, "it broke")) == ([], [ErrorReply(2, "it broke")])


def test_a_batch_gives_one_message_each_way(rig: Rig) -> None:
    """C2.28, C2.31, C2.32, C2.50: unwrapped, paired in order, uid and parameters as they came."""
    backend, frontend = rig.play(
        BatchTokenizerMsg([request(1, "A"), DetokenizeMsg(3, 67), request(2, "BC")]), DetokenizeMsg(4, 68)
    )
    assert backend == [BatchBackendMsg([UserMsg(1, [65], PARAMS), UserMsg(2, [66, 67], PARAMS)])]
    assert frontend == [BatchFrontendMsg([UserReply(3, "C", False), UserReply(4, "D", False)])]


def test_an_abort_stays_behind_its_request(rig: Rig) -> None:
    backend, _ = rig.play(AbortMsg(8), request(1, "A"), AbortMsg(1), request(2, "B"), AbortMsg(2))
    assert backend == [
        BatchBackendMsg(
            [
                AbortBackendMsg(8),
                UserMsg(1, [65], PARAMS),
                AbortBackendMsg(1),
                UserMsg(2, [66], PARAMS),
                AbortBackendMsg(2),
            ]
        )
    ]


def test_an_error_of_one_request_goes_straight_back(rig: Rig) -> None:
    turns = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    bad = TokenizeMsg(uid=7, text=turns, sampling_params=PARAMS)
    backend, frontend = rig.play(request(1, "A"), bad, DetokenizeMsg(2, 66), request(3, "C"))
    assert backend == [BatchBackendMsg([UserMsg(1, [65], PARAMS), UserMsg(3, [67], PARAMS)])]
    assert isinstance(frontend[0], BatchFrontendMsg)
    error, reply = frontend[0].data
    assert isinstance(error, ErrorReply)
    assert (error.uid, error.status, error.code) == (7, 400, "chat_template_error")
    assert "one turn only" in error.message
    assert reply == UserReply(2, "B", False)


def test_a_token_that_is_none_ends_its_request_everywhere(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    backend, frontend = rig.play(DetokenizeMsg(1, 65), DetokenizeMsg(1, -5), DetokenizeMsg(1, 66))
    assert backend == [AbortBackendMsg(1)]
    assert isinstance(frontend[0], BatchFrontendMsg)
    assert [type(reply) for reply in frontend[0].data] == [UserReply, ErrorReply]
    assert rig.play(DetokenizeMsg(1, 67)) == ([], [])
    assert rig.play(DetokenizeMsg(1, finished=True, finish_reason="abort")) == ([], [])
    assert rig.worker.held() == {}


def test_an_abort_leaves_the_decode_state_to_the_scheduler(rig: Rig) -> None:
    """C5.161: the state goes with the finish that the scheduler sends behind the last token."""
    rig.play(DetokenizeMsg(7, 65), DetokenizeMsg(7, 66))
    rig.play(AbortMsg(7))
    assert rig.worker.held() == {7: {"decode_map": 2}}
    rig.play(DetokenizeMsg(7, 67), DetokenizeMsg(7, finished=True, finish_reason="abort"))
    assert rig.worker.held() == {}


def test_messages_for_others_are_logged_and_ignored(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        assert rig.play(UserReply(1, "x", False), request(2, "B")) == ([UserMsg(2, [66], PARAMS)], [])
    assert "UserReply" in caplog.text


def test_a_malformed_frame_is_dropped(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    rig.inbox.arrive(b"\xc1")
    assert rig.play(request(2, "B")) == ([UserMsg(2, [66], PARAMS)], [])


def test_nothing_arrived_nothing_sent(rig: Rig) -> None:
    assert rig.play() == ([], [])


def test_the_worker_comes_without_torch_and_transformers() -> None:
    code = (
        "import sys, minisgl_tutor.tokenizer.server\n"
        "print([name for name in ('torch', 'transformers', 'numpy', 'fastapi') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


class Panicking:
    """A library that fails as one in Rust does at the texts and the tokens that have an X in them."""

    def __init__(self, library: LibraryTokenizer) -> None:
        self._library = library
        self.decoder = decoders.WordPiece()  # none that is known piece by piece

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)

    def encode_batch_fast(self, texts: list[str], add_special_tokens: bool) -> Any:
        if any("X" in text for text in texts):
            raise Panic("index out of bounds")
        return self._library.encode_batch_fast(texts, add_special_tokens=add_special_tokens)

    def decode(self, ids: list[int], skip_special_tokens: bool) -> str:
        if ord("X") in ids:
            raise Panic("index out of bounds")
        return self._library.decode(ids, skip_special_tokens=skip_special_tokens)


Panic = type("PanicException", (BaseException,), {"__module__": PANICS_OF})


@pytest.fixture
def panicking(rig: Rig, byte_library: LibraryTokenizer) -> Rig:
    tokenizer: Any = Tokenizer(Panicking(byte_library))  # type: ignore[arg-type]
    rig.worker.tokenize_manager = TokenizeManager(tokenizer)
    rig.worker.detokenize_manager = DetokenizeManager(tokenizer)
    return rig


def test_a_text_at_which_the_library_panics_fails_alone(
    panicking: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    backend, frontend = panicking.play(request(1, "A"), request(2, "X"), request(3, "B"))
    assert backend == [BatchBackendMsg([UserMsg(1, [65], PARAMS), UserMsg(3, [66], PARAMS)])]
    (error,) = frontend
    assert isinstance(error, ErrorReply)
    assert (error.uid, error.status, error.code) == (2, 500, "tokenizer_failed")
    assert "index" not in error.message, "that is for the log"
    assert "index out of bounds" in caplog.text


@pytest.mark.parametrize("logprobs", [None, TokenLogprobs(ScoredToken(ord("X"), -1.0))])
def test_a_token_at_which_the_library_panics_ends_its_request_alone(
    panicking: Rig, caplog: pytest.LogCaptureFixture, logprobs: TokenLogprobs | None
) -> None:
    token = 66 if logprobs else ord("X")
    backend, frontend = panicking.play(DetokenizeMsg(1, token, logprobs=logprobs), DetokenizeMsg(2, 66))
    assert backend == [AbortBackendMsg(1)]
    assert isinstance(frontend[0], BatchFrontendMsg)
    error, reply = frontend[0].data
    assert isinstance(error, ErrorReply)
    assert (error.uid, error.status, error.code) == (1, 500, "detokenize_error")
    assert reply == UserReply(2, "B", False)
    assert "index out of bounds" in caplog.text
