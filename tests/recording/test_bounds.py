"""A recording keeps to its bytes: it ends, or goes on in files that can be read by themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from minisgl_tutor.recording import VERSION, ArriveLine, Header, encode_line, read_recording
from minisgl_tutor.recording.recorder import RecordFile, RecordTarget

HEADER = Header(VERSION, None, "m", 16, 64, 8, 256, 257, 2048, "radix", True, 1, 16, [1])
LINE = len(encode_line(ArriveLine(100, [1], [])))


def written(path: Path, processes: int, count: int, **target: int) -> None:
    """``count`` lines by turns from so many processes' ends of a file."""
    shared = RecordTarget.create(path, **target)
    files = [RecordFile(shared) for _ in range(processes)]
    files[0].write(HEADER)
    for i in range(count):
        files[i % processes].write(ArriveLine(100 + i, [i % 10], []))
    for file in files:
        file.close()


def test_a_full_recording_ends_and_says_so_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    most = len(encode_line(HEADER)) + 3 * LINE
    written(tmp_path / "r", processes=1, count=9, max_bytes=most)
    assert [line.t for line in read_recording(tmp_path / "r").lines] == [100, 101, 102]
    (record,) = caplog.records
    assert f"has its {most} bytes" in record.getMessage()


def test_full_files_make_room_and_the_last_ones_are_kept(tmp_path: Path) -> None:
    most = len(encode_line(HEADER)) + 4 * LINE
    written(tmp_path / "r", processes=3, count=22, max_bytes=most, rotate=3)
    names = ["r.3", "r.2", "r.1", "r"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    recordings = [read_recording(tmp_path / name) for name in names]
    assert all(recording.header == HEADER for recording in recordings)
    assert [line.t for recording in recordings for line in recording.lines] == list(range(108, 122))
    assert all((tmp_path / name).stat().st_size <= most for name in names)


def test_a_process_that_writes_seldom_finds_the_newest_file(tmp_path: Path) -> None:
    """Its own file has long been taken away when it writes again."""
    most = len(encode_line(HEADER)) + LINE
    target = RecordTarget.create(tmp_path / "r", max_bytes=most, rotate=1)
    often, seldom = RecordFile(target), RecordFile(target)
    often.write(HEADER)
    for i in range(8):
        often.write(ArriveLine(100 + i, [1], []))
    seldom.write(ArriveLine(200, [2], []))
    assert [line.t for line in read_recording(tmp_path / "r").lines] == [107, 200]
    assert [line.t for line in read_recording(tmp_path / "r.1").lines] == [106]
    often.close()
    seldom.close()
