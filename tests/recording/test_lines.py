"""Reading a recording: what cannot be played is refused with its line and the reason."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import get_args

import pytest
from msgspec.structs import replace

from minisgl_tutor.recording import (
    VERSION,
    ArriveLine,
    CutLine,
    DisconnectLine,
    Header,
    HopLine,
    Line,
    Recording,
    RecordingError,
    RequestLine,
    StepLine,
    StopLine,
    SubmitLine,
    TokensLine,
    encode_line,
    read_recording,
)
from minisgl_tutor.recording.read import MAX_LINE_BYTES
from minisgl_tutor.recording.schema import schema_text

HEADER = Header(VERSION, None, "m", 16, 64, 8, 256, 257, 2048, "radix", True, 1, 16, [1])
REQUEST = RequestLine(0, 0, "POST", "/v1/completions", "{}")


def written(path, *lines: bytes):
    path.write_bytes(b"".join(lines))
    return path


def test_lines_of_two_processes_come_back_by_time(tmp_path):
    later, sooner = ArriveLine(9, [1], []), SubmitLine(5, 0, 1, "s", 0)
    path = written(tmp_path / "r", encode_line(HEADER), encode_line(later), encode_line(sooner))
    assert read_recording(path) == Recording(HEADER, [sooner, later])


def test_a_recording_that_names_no_admission_was_made_with_reserve(tmp_path):
    line = encode_line(HEADER)
    before = line.replace(b',"admission":"reserve"', b"")
    assert before != line
    assert read_recording(written(tmp_path / "r", before)).header == HEADER


def test_a_torn_last_line_is_left_out(tmp_path):
    path = written(tmp_path / "r", encode_line(HEADER), encode_line(ArriveLine(1, [], [])), b'{"kind":"arr')
    assert read_recording(path).lines == [ArriveLine(1, [], [])]


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([], "not a recording"),
        ([b"hello\n"], "line 1"),
        ([encode_line(ArriveLine(1, [], []))], "not a recording"),
        ([encode_line(HEADER), b'{"kind":"arrive","t":1}\n'], "line 2.*users"),
        ([encode_line(HEADER), b'{"kind":"teleport","t":1}\n'], "line 2.*teleport"),
        ([encode_line(HEADER), b'{"kind":"tokens","t":1,"n":0,"tokens":[NaN]}\n'], "line 2"),
        ([encode_line(HEADER), b"[" * 100_000 + b"\n"], "line 2"),
        ([encode_line(HEADER), b"\x80\x04\x95pickle\n"], "line 2"),
        ([encode_line(HEADER), encode_line(HEADER)], "line 2.*second header"),
        (
            [encode_line(HEADER), encode_line(ArriveLine(9, [], [])), encode_line(ArriveLine(5, [], []))],
            "line 3.*behind",
        ),
        (
            [encode_line(HEADER), encode_line(SubmitLine(1, 0, 3, "s", 0)), encode_line(REQUEST)],
            "line 3.*behind its",
        ),
        (
            [
                encode_line(HEADER),
                encode_line(TokensLine(1, 0, [7])),
                encode_line(StepLine(1, 0, "decode", [1], [5])),
            ],
            "line 3.*behind its",
        ),
        ([encode_line(HEADER), encode_line(ArriveLine(1, [1], [], [5, 6]))], "line 2: 1 requests arrive"),
        (
            [encode_line(HEADER), encode_line(HopLine(1, "api", {"type": "Os", "uid": 1}))],
            "line 2: no message is named 'Os'",
        ),
        (
            [encode_line(HEADER), encode_line(HopLine(1, "api", {"type": "AbortMsg"}))],
            "line 2: the AbortMsg has no uid",
        ),
        (
            [
                encode_line(HEADER)
                .replace(b'"version":1', b'"version":9,"unheard":[]')
                .replace(b'"radix"', b'"trie"')
            ],
            "line 1.*version 9",
        ),
        ([encode_line(replace(HEADER, num_pages=10**12))], "line 1.*num_pages"),
        ([encode_line(replace(HEADER, page_size=0))], "line 1.*page_size"),
        ([encode_line(replace(HEADER, num_slots=0))], "line 1.*num_slots"),
        ([encode_line(replace(HEADER, max_seq_len=-1))], "line 1.*max_seq_len"),
        ([encode_line(replace(HEADER, prefill_budget=0))], "line 1.*prefill_budget"),
        ([encode_line(replace(HEADER, num_tokenizer=10**9))], "line 1.*num_tokenizer"),
        ([encode_line(HEADER), encode_line(ArriveLine(-1, [], []))], "line 2"),
        ([encode_line(HEADER), encode_line(ArriveLine(2**62, [], []))], "line 2"),
        ([encode_line(HEADER), encode_line(DisconnectLine(1, 0, -1))], "line 2.*chunks"),
        ([encode_line(HEADER), encode_line(StepLine(1, 0, "decode", [1, 2], [5]))], "2 rows, but 1 lengths"),
        (
            [
                encode_line(HEADER),
                encode_line(CutLine(1, 3, 0, 0, 504, "c", "m")),
                encode_line(StopLine(2, [2, 3], [1, 1], "m")),
            ],
            "line 3: uid 3 is ended 2 times",
        ),
        (
            [encode_line(HEADER), encode_line(StopLine(2, [2, 3], [1], "m"))],
            "2 requests are ended, with 1 numbers of replies",
        ),
        ([encode_line(HEADER), encode_line(StepLine(1, 0, "decode", [1], [-5]))], "line 2"),
        ([encode_line(HEADER), encode_line(TokensLine(1, 0, [257]))], "outside of the vocabulary"),
        ([encode_line(HEADER), encode_line(TokensLine(1, 0, [-2]))], "outside of the vocabulary"),
        ([encode_line(HEADER), *2 * [encode_line(REQUEST)]], "request 0 is there 2 times"),
        ([encode_line(HEADER), *2 * [encode_line(SubmitLine(1, 0, 3, "s", 0))]], "submit of uid 3"),
        (
            [
                encode_line(HEADER),
                encode_line(StepLine(1, 0, "decode", [1, 2], [5, 6])),
                encode_line(TokensLine(1, 0, [7])),
            ],
            "2 rows, but 1 tokens",
        ),
    ],
)
def test_what_cannot_be_played_is_refused(tmp_path, lines, reason):
    with pytest.raises(RecordingError, match=reason):
        read_recording(written(tmp_path / "r", *lines))


def test_a_future_version_is_refused_and_a_missing_file_is_named(tmp_path):
    future = replace(HEADER, version=VERSION + 1)
    with pytest.raises(RecordingError, match=f"version {VERSION + 1}"):
        read_recording(written(tmp_path / "r", encode_line(future)))
    with pytest.raises(RecordingError, match="missing"):
        read_recording(tmp_path / "missing")


def test_of_a_line_without_end_no_more_is_read_than_a_line_may_have(tmp_path):
    path = tmp_path / "r"
    with path.open("wb") as file:
        file.write(encode_line(HEADER))
        file.truncate(400 << 20)  # of zeros that are nowhere
    tracemalloc.start()
    with pytest.raises(RecordingError, match="line 2: longer than 64 MB"):
        read_recording(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * MAX_LINE_BYTES


def test_the_schema_in_the_documents_is_that_of_the_types():
    file = Path(__file__).parents[2] / "docs" / "recording.schema.json"
    assert file.read_text(encoding="utf-8") == schema_text(), "run scripts/write_schema.py"


def test_the_document_describes_every_kind_of_line():
    text = (Path(__file__).parents[2] / "docs" / "recording-format.md").read_text(encoding="utf-8")
    kinds = {line.__struct_config__.tag for line in get_args(Line)}
    assert {kind for kind in kinds if f"| `{kind}` |" not in text} == set()
