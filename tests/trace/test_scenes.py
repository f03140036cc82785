"""The scenes of the chapters, as `trace` plays them."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from functools import cache

import pytest
from rich.console import Console

from minisgl_tutor.gaps import REFERENCE
from minisgl_tutor.language import ENGLISH, Sentence
from minisgl_tutor.recording import read_recording
from minisgl_tutor.resources import model_dir
from minisgl_tutor.tokenizer.load import load_tokenizer
from minisgl_tutor.trace.play import Play, play
from minisgl_tutor.trace.scenes import SceneNotFound, scenes_of
from minisgl_tutor.trace.steps import encoded
from minisgl_tutor.views.terminal import print_play

SHOWN = {
    "normal-end": {"C5.158"},
    "interleaved": {"C5.158"},
    "client-leaves": {"C5.134", "C5.156", "C5.161", "C5.162"},
    "non-streaming-client-leaves": {"C5.158", "C5.159", "C5.160"},
    "over-long-prompt": {"C5.163", "C5.164"},
    "slow-reader": {"C5.168", "C5.170", "C5.158"},
}
"""The claims that the auditor names in each scene of chapter 5 with the reference's gaps on."""


@cache
def tokenizer():
    return load_tokenizer(model_dir())


def scene(name: str, gaps=("reference",), chapter: int = 5, **options) -> Play:
    (found,) = scenes_of(chapter, name)
    return play(read_recording(found.path), tokenizer(), gaps, **options)


def answer_of(body: bytes) -> str:
    """The joined deltas of a stream that came to its end."""
    *chunks, done = [event.removeprefix("data: ") for event in body.decode().strip().split("\n\n")]
    assert done == "[DONE]"
    deltas = [json.loads(chunk)["choices"][0]["delta"] for chunk in chunks]
    return "".join(delta.get("content", "") for delta in deltas)


def claims(result: Play) -> set[str]:
    return {claim for finding in result.findings for claim in finding.claims}


def test_chapter_5_has_these_scenes():
    assert [found.name for found in scenes_of(5)] == list(SHOWN)


@pytest.mark.parametrize("name", SHOWN)
def test_each_scene_shows_its_claims(name):
    result = scene(name)
    assert claims(result) == SHOWN[name]
    assert all(finding.gap in REFERENCE for finding in result.findings)


@pytest.mark.parametrize("name", SHOWN)
@pytest.mark.parametrize("spec_version", ["2.3", "2.4"])
def test_without_gaps_nothing_is_left(name, spec_version):
    result = scene(name, gaps=(), spec_version=spec_version)
    assert result.findings == []
    assert not any(result.held.values())


def test_chapter_2_follows_one_request_through_all_stages():
    """C2.112, K5.53: the stages in order, the uid the same all the way (C5.17)."""
    result = scene("journey", gaps=(), chapter=2)
    hops = list(dict.fromkeys((step.source, step.target) for step in result.steps))
    assert hops == [
        ("client", "api"),
        ("api", "tokenizer-0"),
        ("tokenizer-0", "scheduler"),
        ("scheduler", "engine"),
        ("scheduler", "detokenizer"),
        ("detokenizer", "api"),
        ("api", "client"),
    ]
    assert {uid for step in result.steps for uid in step.uids} == {0}
    assert result.exchanges[0].body.endswith(b"data: [DONE]\n\n")


def test_interleaved_replies_reach_their_own_clients():
    """C5.78: texts come as A1 B1 B2 A2 on the one return channel, and each client's stream is its own."""
    result = scene("interleaved", gaps=())
    order = [
        message["uid"]
        for step in result.steps
        if step.source == "detokenizer"
        for message in step.content
        if message["incremental_output"]
    ]
    assert order[:4] == [0, 1, 1, 0]
    for uid, exchange in result.exchanges.items():
        replies = [
            message["incremental_output"]
            for step in result.steps
            if step.source == "detokenizer"
            for message in step.content
            if message["uid"] == uid
        ]
        assert answer_of(exchange.body) == "".join(replies) != ""


def test_the_steps_name_lines_that_exist():
    import minisgl_tutor

    root = minisgl_tutor.__path__[0]
    for step in scene("client-leaves").steps:
        for location in step.where:
            with open(f"{root}/{location.file}") as file:
                assert location.line <= len(file.readlines())
    gap_files = {location.file for step in scene("client-leaves").steps for location in step.where}
    assert "gaps/late_abort.py" in gap_files


@pytest.mark.parametrize("name", SHOWN)
def test_every_view_plays_every_scene_twice_alike(name):
    def views() -> tuple[str, bytes]:
        result = scene(name)
        text = io.StringIO()
        print_play(Console(file=text, width=80), Sentence(name), result, ENGLISH)
        return text.getvalue(), encoded(result.steps)

    first = views()
    assert first == views()
    assert all(len(line) <= 80 for line in first[0].splitlines())


def test_an_unknown_scene_or_chapter_names_what_there_is():
    with pytest.raises(SceneNotFound, match="client-leaves"):
        scenes_of(5, "nope")
    with pytest.raises(SceneNotFound, match="2, 5"):
        scenes_of(9)


def test_trace_imports_neither_torch_nor_transformers():
    code = (
        "import sys; from minisgl_tutor.cli.main import main\n"
        "try: main(['trace', '--chapter', '5', '--json'])\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "assert not {'torch', 'transformers'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
