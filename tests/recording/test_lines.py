"""Reading a recording: what cannot be played is refused with its line and the reason."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from minisgl_tutor.recording import (
    VERSION,
    ArriveLine,
    DisconnectLine,
    Header,
    Recording,
    RecordingError,
    RequestLine,
    StepLine,
    SubmitLine,
    TokensLine,
    encode_line,
    read_recording,
)

HEADER = Header(VERSION, None, "m", 16, 64, 8, 256, 257, 2048, "radix", True, 1, 16, [1])
REQUEST = RequestLine(0, 0, "POST", "/v1/completions", "{}")


def written(path, *lines: bytes):
    path.write_bytes(b"".join(lines))
    return path


def test_lines_come_back_by_time(tmp_path):
    later, sooner = ArriveLine(9, [1], []), TokensLine(5, 0, [3])
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
        ([encode_line(HEADER), encode_line(HEADER)], "second header"),
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
