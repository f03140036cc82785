"""The runs that the figures are drawn from: plays of recorded scenes."""

from __future__ import annotations

import json
from collections.abc import Iterator

import msgspec

from minisgl_tutor.recording import Recording, RequestLine, read_recording
from minisgl_tutor.resources import model_dir
from minisgl_tutor.tokenizer.load import load_tokenizer
from minisgl_tutor.trace.play import play
from minisgl_tutor.trace.scenes import scenes_of
from minisgl_tutor.trace.steps import Step

DATA = "data: "


def recording_of(chapter: int, scene: str) -> Recording:
    (found,) = scenes_of(chapter, scene)
    return read_recording(found.path)


def played(recording: Recording, gaps: tuple[str, ...] = ()) -> list[Step]:
    """Every step of the recording, under these gaps and no others."""
    return play(recording, load_tokenizer(model_dir()), gaps).steps


def asked_in_one_piece(recording: Recording) -> Recording:
    """The same requests and the same tokens, but no client asks for a stream."""
    lines = [
        msgspec.structs.replace(line, body=json.dumps(json.loads(line.body) | {"stream": False}))
        if isinstance(line, RequestLine)
        else line
        for line in recording.lines
    ]
    return msgspec.structs.replace(recording, lines=lines)


def chunks(step: Step) -> Iterator[str]:
    """The text of each event with a choice that ``step`` brought to a client; empty where it has none."""
    for block in step.content:
        for line in str(block.get("text", "")).splitlines():
            if line.startswith(DATA) and line != f"{DATA}[DONE]":
                for choice in json.loads(line.removeprefix(DATA))["choices"]:
                    yield choice["delta"].get("content", "")
