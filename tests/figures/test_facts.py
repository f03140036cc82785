"""What the figures say is what the runs were."""

from __future__ import annotations

from math import sqrt
from xml.etree import ElementTree

import pytest
from figures import cancel_path, sampling, shared_channel, timelines
from figures.paper import PALETTES
from figures.plays import played, recording_of

SVG = "{http://www.w3.org/2000/svg}"


def texts_of(drawing: str) -> list[str]:
    """From top to bottom."""
    found = ElementTree.fromstring(drawing.encode()).iter(f"{SVG}text")
    return ["".join(text.itertext()) for text in sorted(found, key=lambda text: float(text.get("y", 0)))]


def test_replies_on_the_shared_channel_are_filed_then_wake_then_are_taken() -> None:
    data = shared_channel.observed()
    texts = texts_of(shared_channel.draw(data, "en", PALETTES["light"]))
    assert len(data.unread) == 2
    for uid in data.unread:
        assert data.unread[uid] == 1 and data.is_set[uid]
        assert data.written[uid] == data.arrivals[data.filed].texts[uid]
        for name in ("ack_map[{}]", "event_map[{}]", "wait_for_ack({})", "client of uid {}"):
            assert name.format(uid) in texts
    assert [texts.index(number) for number in "12346"] == sorted(texts.index(number) for number in "12346")
    for arrival in data.arrivals:
        assert f"{arrival.t_us / 1000:.1f} ms" in texts
        assert {f'{uid} "{text}"' for uid, text in arrival.texts.items()} <= set(texts)


def test_the_shared_channel_follows_its_scene() -> None:
    steps = played(recording_of(5, "interleaved"))
    for step in steps:
        if (step.source, step.target) == ("detokenizer", "api"):
            step.content = [reply | {"incremental_output": "otherwise"} for reply in step.content]
    drawing = shared_channel.draw(shared_channel.channel(steps), "en", PALETTES["light"])
    assert drawing.count("otherwise") > 2


def test_both_time_lines_have_the_same_end_text_and_passes() -> None:
    data = timelines.observed()
    texts = texts_of(timelines.draw(data, "en", PALETTES["light"]))
    assert "".join(text for _, text in data.pieces) == data.answer
    assert data.stream_end == data.answered
    first, whole = data.until_text
    assert 0 < first < whole / 5
    assert all(end <= begin for (_, end), (begin, _) in zip(data.passes, data.passes[1:], strict=False))
    usage = played(recording_of(5, "normal-end"))[-5].content[0]["usage"]
    assert len(data.passes) == usage["completion_tokens"]
    assert f"{len(data.passes)} forward passes, the same for both" in texts
    shown = [text for text in texts if text in {piece.strip() for _, piece in data.pieces}]
    assert shown == [piece.strip() for _, piece in data.pieces]


def test_a_cancel_passes_all_layers_and_each_lets_go_in_turn() -> None:
    data = cancel_path.observed()
    texts = texts_of(cancel_path.draw(data, "en", PALETTES["light"]))
    cancel = [step for step in data.steps if step.t_us >= data.left_us]
    assert [(step.source, step.target, step.title) for step in cancel] == [
        ("client", "api", "left"),
        ("api", "tokenizer-0", "AbortMsg"),
        ("tokenizer-0", "scheduler", "AbortBackendMsg"),
        ("scheduler", "detokenizer", "DetokenizeMsg"),
        ("detokenizer", "api", "UserReply"),
    ]
    assert data.released["api"] < data.released["scheduler"] < data.released["detokenizer"]
    assert not any(cancel[-1].after.values())
    call = data.steps[0]
    assert call.t_us < data.left_us < call.ended_us == cancel[3].t_us
    assert f"+{(call.ended_us - data.left_us) / 1000:.2f} ms" in texts
    assert len(data.here.passes) == 1 and data.here.heard < 1000
    assert len(data.reference.passes) > 5 and data.reference.heard > 100_000
    assert any(f"{len(data.reference.passes) - 1} passes for nobody" in text for text in texts)


def test_two_ways_of_sampling_give_what_the_scores_say() -> None:
    data = sampling.observed()
    texts = texts_of(sampling.draw(data, "en", PALETTES["light"]))
    assert sampling.SCORES[data.greedy] == max(sampling.SCORES)
    assert sum(data.probabilities) == pytest.approx(1)
    below = sum(data.probabilities[: data.drawn])
    assert below <= data.draw < below + data.probabilities[data.drawn]
    assert data.drawn != data.greedy
    assert sum(data.counts) == sampling.DRAWS
    for count, share in zip(data.counts, data.probabilities, strict=True):
        assert abs(count - share * sampling.DRAWS) < 4 * sqrt(sampling.DRAWS * share * (1 - share))
    assert texts[-2:] == [f"token {data.greedy}", f"token {data.drawn}"]
    assert {f"{probability:.3f}" for probability in data.probabilities} <= set(texts)
