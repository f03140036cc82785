"""Stop strings: found wherever the text is cut, and nothing of them is shown before."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as LibraryTokenizer

from minisgl_tutor.message import DetokenizeMsg, ScoredToken, StopStringsMsg, TokenLogprobs, Usage, UserReply
from minisgl_tutor.tokenizer.detokenize import DetokenizeManager
from minisgl_tutor.tokenizer.stop import StopFinder
from minisgl_tutor.tokenizer.tokenizer import Tokenizer

FIRST_WORD = 259
EOS = 256
PROMPT = Usage(prompt_tokens=5, cached_tokens=2)


def cut(text: str, stop: Sequence[str]) -> str | None:
    """``text`` up to the stop string that is complete first; of several complete at once, the longest."""
    for end in range(1, len(text) + 1):
        complete = [len(string) for string in stop if text[:end].endswith(string)]
        if complete:
            return text[: end - max(complete)]
    return None


def reads(text: str, stop: Sequence[str], sizes: Sequence[int]) -> tuple[list[str], StopFinder]:
    finder, shown = StopFinder(stop), []
    for size in sizes:
        piece, text = text[:size], text[size:]
        shown.append(finder.feed(piece))
        if finder.found:
            break
    return shown, finder


letters = st.text("ab", min_size=1, max_size=4)


@given(text=st.text("ab", max_size=20), stop=st.lists(letters, min_size=1, max_size=3), data=st.data())
def test_what_is_shown_does_not_depend_on_the_pieces(text: str, stop: list[str], data: st.DataObject) -> None:
    sizes = [*data.draw(st.lists(st.integers(0, 4), max_size=8)), len(text)]
    shown, finder = reads(text, stop, sizes)
    expected = cut(text, stop)
    assert finder.found == (expected is not None)
    assert "".join(shown) + finder.held == (text if expected is None else expected)


@given(text=st.text("ab", max_size=12), stop=st.lists(letters, min_size=1, max_size=3))
def test_held_back_is_the_longest_end_that_may_become_a_stop_string_and_no_more(
    text: str, stop: list[str]
) -> None:
    shown, finder = reads(text, stop, [1] * len(text))
    if not finder.found:
        may_become = [
            n
            for n in range(len(text) + 1)
            if any(string.startswith(text[len(text) - n :]) for string in stop)
        ]
        assert finder.held == text[len(text) - max(may_become) :]
        assert "".join(shown) + finder.held == text


def test_a_beginning_within_a_beginning_is_not_lost() -> None:
    shown, finder = reads("xaabaabaac", ["aabaac"], [1] * 10)
    assert ("".join(shown), finder.found) == ("xaab", True)


# -- in the detokenizer


def replies_to(tokenizer: Tokenizer, ids: Sequence[int], stop: Sequence[str], uid: int = 0):
    """The manager after all of ``ids``, the last of which is at the limit, and the reply to each token."""
    manager = DetokenizeManager(tokenizer)
    replies: list[UserReply] = []
    manager.detokenize([StopStringsMsg(uid, tuple(stop), PROMPT)])
    for place, token in enumerate(ids, 1):
        last = place == len(ids)
        usage = Usage(5, place, 2) if last else None
        msg = DetokenizeMsg(uid, token, last, "length" if last else None, usage)
        replies += manager.detokenize([msg])
    return manager, replies


def test_case_b5_no_part_of_a_stop_string_leaks(fallback_tokenizer: Tokenizer) -> None:
    letters = [3 + byte for byte in b"DEFGHIJK"]
    abc = FIRST_WORD + 8
    _, replies = replies_to(fallback_tokenizer, [abc, *letters], ["DEFGHIJ"])
    assert [reply.incremental_output for reply in replies] == ["ABC", *[""] * 7]
    assert replies[-1] == UserReply(0, "", True, "stop", Usage(5, 8, 2))
    _, others = replies_to(fallback_tokenizer, [abc, *letters[:4], letters[7]], ["DEFGHIJ"])
    assert [reply.incremental_output for reply in others] == ["ABC", "", "", "", "", "DEFGK"]
    assert (others[-1].finish_reason, others[-1].usage) == ("length", Usage(5, 6, 2))


def test_case_d10_a_stop_string_whose_bytes_come_in_two_tokens(byte_tokenizer: Tokenizer) -> None:
    _, replies = replies_to(byte_tokenizer, list("aéb".encode()), ["é"])
    assert [(reply.incremental_output, reply.finish_reason) for reply in replies] == [
        ("a", None),
        ("", None),
        ("", "stop"),
    ]


def test_nothing_comes_after_a_stop_string_until_the_scheduler_has_finished(
    byte_tokenizer: Tokenizer,
) -> None:
    manager, replies = replies_to(byte_tokenizer, list(b"one. t"), ["."])
    assert "".join(reply.incremental_output for reply in replies) == "one"
    assert [reply.finished for reply in replies] == [False, False, False, True]
    assert manager.held() == {}
    manager.detokenize([StopStringsMsg(1, (".",), PROMPT), DetokenizeMsg(1, ord("."))])
    assert manager.awaits_finish(1) and manager.held() == {1: {"decode_map": 1}}
    assert manager.detokenize([DetokenizeMsg(1, 65), DetokenizeMsg(1, 66)]) == []
    assert manager.detokenize([DetokenizeMsg(1, finished=True, finish_reason="abort")]) == []
    assert manager.held() == {}


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_a_stop_string_completed_by_the_last_token_is_a_stop(byte_tokenizer: Tokenizer, reason: str) -> None:
    manager = DetokenizeManager(byte_tokenizer)
    manager.detokenize([StopStringsMsg(0, ("b\ufffd",), PROMPT)])
    manager.detokenize([DetokenizeMsg(0, token) for token in b"ab\xe6"])
    end = DetokenizeMsg(0, EOS if reason == "stop" else 0xE6, True, reason, Usage(5, 4, 2))
    assert manager.detokenize([end]) == [UserReply(0, "", True, "stop", Usage(5, 4, 2))]
    assert manager.held() == {}


def test_what_is_held_back_is_shown_at_the_end(byte_tokenizer: Tokenizer) -> None:
    manager = DetokenizeManager(byte_tokenizer)
    manager.detokenize([StopStringsMsg(0, ("abc",), PROMPT), *(DetokenizeMsg(0, token) for token in b"xab")])
    assert manager.detokenize([DetokenizeMsg(0, EOS, True, "stop")]) == [UserReply(0, "ab", True, "stop")]


PIECES = ["你好", "न", "म", "स्ते", "ש", "לום", "👋🏽", "👨‍👩‍👧", "ab", "a", "\n\n", "\n", "."]


@settings(max_examples=200)
@given(data=st.data())
def test_the_text_is_that_of_all_tokens_up_to_the_stop_string(
    byte_tokenizer: Tokenizer,
    bpe_tokenizer: Tokenizer,
    fallback_tokenizer: Tokenizer,
    data: st.DataObject,
) -> None:
    texts = st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map("".join)
    spelled = data.draw(texts)
    stop = data.draw(st.lists(texts.map(lambda text: text[:3]), min_size=1, max_size=3))
    spellings = [
        (byte_tokenizer, list(spelled.encode())),
        (bpe_tokenizer, bpe_tokenizer.encode(spelled, add_special_tokens=False)),
        (fallback_tokenizer, [3 + byte for byte in spelled.encode()]),
    ]
    for tokenizer, ids in spellings:
        expected = cut(spelled, stop)
        _, replies = replies_to(tokenizer, ids, stop)
        text = "".join(reply.incremental_output for reply in replies)
        assert text == (spelled if expected is None else expected)
        assert replies[-1].finish_reason == ("length" if expected is None else "stop")
        assert [reply.finished for reply in replies] == [False] * (len(replies) - 1) + [True]
        assert replies[-1].usage == Usage(5, len(replies), 2)


# -- logprobs


def scored(token: int) -> TokenLogprobs:
    return TokenLogprobs(ScoredToken(token, -token / 64), (ScoredToken(EOS, -0.5),))


def logprobs_of(
    tokenizer: Tokenizer, ids: Sequence[int], stop: tuple[str, ...] = ()
) -> tuple[list[str], list[list[bytes]]]:
    """The text and the tokens' bytes that each reply shows. The last id is an EOS."""
    manager = DetokenizeManager(tokenizer)
    if stop:
        manager.detokenize([StopStringsMsg(0, stop, PROMPT)])
    msgs = [DetokenizeMsg(0, token, logprobs=scored(token)) for token in ids[:-1]]
    msgs.append(DetokenizeMsg(0, ids[-1], True, "stop", logprobs=scored(ids[-1])))
    replies = manager.detokenize(msgs)
    return (
        [reply.incremental_output for reply in replies],
        [[entry.chosen.utf8 for entry in reply.logprobs] for reply in replies],
    )


def test_logprobs_come_with_the_text_of_their_tokens(byte_tokenizer: Tokenizer) -> None:
    assert logprobs_of(byte_tokenizer, [*"aé".encode(), EOS]) == (
        ["a", "", "é", ""],
        [[b"a"], [], [b"\xc3", b"\xa9"], []],
    )


def test_logprobs_of_what_a_stop_string_takes_away_are_not_shown(byte_tokenizer: Tokenizer) -> None:
    assert logprobs_of(byte_tokenizer, [*b"ab-c--", EOS], ("--",)) == (
        ["a", "b", "", "-c", "", ""],
        [[b"a"], [b"b"], [], [b"-", b"c"], [], []],
    )


def test_logprobs_of_an_unfinished_end_come_with_the_finish(byte_tokenizer: Tokenizer) -> None:
    assert logprobs_of(byte_tokenizer, [65, 0xC3, EOS]) == (["A", "", "\ufffd"], [[b"A"], [], [b"\xc3"]])


def test_a_token_is_shown_as_it_is_wherever_it_stands(
    byte_tokenizer: Tokenizer, fallback_tokenizer: Tokenizer, wordpiece_library: LibraryTokenizer
) -> None:
    manager = DetokenizeManager(byte_tokenizer)
    (reply,) = manager.detokenize([DetokenizeMsg(0, 65, logprobs=scored(65))])
    (entry,) = reply.logprobs
    assert (entry.chosen.text, entry.chosen.utf8, entry.chosen.logprob) == ("A", b"A", -65 / 64)
    assert [(top.text, top.logprob) for top in entry.top] == [("<|eos|>", -0.5)]
    assert fallback_tokenizer.decoder.bytes_of(FIRST_WORD) == b" Daenerys"
    assert Tokenizer(wordpiece_library).decoder.bytes_of(1) == b"hello"
