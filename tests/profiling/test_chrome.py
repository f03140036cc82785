"""A profile can be read back, however its process ended, and is JSON to anybody else."""

from __future__ import annotations

import json
import resource
from pathlib import Path

import pytest

from minisgl_tutor.profiling.chrome import SPANS_AT_ONCE, ProfileError, TraceFile, finish, read_spans
from minisgl_tutor.profiling.timeline import Span

SPANS = [
    Span("launch", 1_500, 4_250, 7, what="decode of 3"),
    Span("wait", 4_250, 9_000_000_001, 7, hid_ns=2_125),
]


def test_what_was_written_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    file = TraceFile(path)
    for span in SPANS:
        file.write(span)
    file.close()
    assert list(read_spans(path)) == SPANS
    names, _, launch, wait = json.loads(path.read_text())
    assert names["args"]["name"] == "minisgl-tutor"
    # The format's times are microseconds.
    assert (launch["ph"], launch["name"], launch["ts"], launch["dur"]) == ("X", "launch", 1.5, 2.75)
    assert wait["args"] == {"step": 7, "hid_us": 2.125}


def test_many_are_written_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    file = TraceFile(path)
    empty = path.stat().st_size
    for step in range(SPANS_AT_ONCE - 1):
        file.write(Span("launch", step, step + 1, step))
    assert path.stat().st_size == empty
    file.write(SPANS[0])
    assert path.stat().st_size > empty


@pytest.mark.parametrize("cut", [0, 1, 5, 40, 75])
def test_a_process_may_be_killed_while_it_writes(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "p.json"
    file = TraceFile(path)
    for span in SPANS:
        file.write(span)
    file.flush()
    text = path.read_bytes()
    path.write_bytes(text[: len(text) - cut])
    finish(path)
    assert list(read_spans(path)) == SPANS[: 1 if cut else 2]
    finish(path)
    json.loads(path.read_text())


def test_there_is_an_end_to_it(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    file = TraceFile(path, most=1)
    for span in SPANS:
        file.write(span)
    file.close()
    assert list(read_spans(path)) == SPANS[:1]


def test_a_server_without_a_request_leaves_a_profile_without_a_span(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    TraceFile(path)
    finish(path)
    assert list(read_spans(path)) == []


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="cannot be written"):
        TraceFile(tmp_path / "missing" / "p.json")


@pytest.mark.parametrize("text", ["", "{}", "[3]", '[{"ph": "X"}]'])
def test_what_is_no_profile(tmp_path: Path, text: str) -> None:
    path = tmp_path / "p.json"
    path.write_text(text)
    with pytest.raises(ProfileError, match="not a profile"):
        list(read_spans(path))


def test_a_disk_that_is_full_ends_the_profile_and_is_told_of_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = TraceFile(tmp_path / "profile.json")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        for number in range(3 * SPANS_AT_ONCE):
            file.write(Span("plan", number, number + 1, 0))
        file.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    (told,) = caplog.records
    assert "cannot be written any more (File too large): it ends here" in told.getMessage()
