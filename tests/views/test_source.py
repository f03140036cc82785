from __future__ import annotations

from pathlib import Path

from minisgl_tutor.trace.steps import Location
from minisgl_tutor.views.source import Sources


def test_lines_around_one_of_the_package() -> None:
    lines = Sources().around(Location("trace/steps.py", 3, "anything"), margin=4)
    assert [number for number, _ in lines] == [1, 2, 3, 4, 5, 6, 7]
    assert lines[2] == (3, "Views render this list and compute nothing.")


def test_a_readers_file_and_one_that_is_gone(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_bytes(b"one\ntwo \xff\nthree\n")
    sources = Sources(file)
    assert sources.around(Location("mine.py", 2, "f"), margin=1) == [
        (1, "one"),
        (2, "two \ufffd"),
        (3, "three"),
    ]
    assert sources.around(Location("nowhere.py", 2, "f")) == []
    assert sources.around(Location("mine.py", 99, "f"), margin=1) == []
