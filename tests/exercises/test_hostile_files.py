"""Files that would hang, end or fool a check: each ends in the right verdict, with a plain sentence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from minisgl_tutor.exercises import runner
from minisgl_tutor.exercises.catalogue import resolve
from minisgl_tutor.exercises.checker import Place, check
from minisgl_tutor.exercises.verdict import Exit, Verdict

IMPORT = "from minisgl_tutor.server.frontend import FrontendManager\n"
MINE = IMPORT + "class Mine(FrontendManager):\n"
RIGHT = MINE + "    def forget(self, uid):\n        if uid >= 0:\n            super().forget(uid)\n"


def verdict_of(tmp_path: Path, content: str | bytes) -> Verdict:
    file = tmp_path / "exercise-7.py"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return check(resolve("5.7"), file, 1, Place(tmp_path / ".failures"))


def seen(verdict: Verdict) -> str:
    return next(line for line in verdict.lines if line.startswith("  seen")).split(maxsplit=1)[1]


LOADING = {
    "syntax": ("x = 1\ndef (:\n", r"exercise-7.py, line 2: Python cannot parse it: .*"),
    "not utf-8": (b'x = "\xff"\n', r"exercise-7.py, line 1: Python cannot parse it: \(unicode error\).*"),
    "raises": (
        "x = 1\n1 / 0\n",
        r"exercise-7.py, line 2: loading it raised ZeroDivisionError: division by zero",
    ),
    "sys.exit": (
        "import sys\nsys.exit(0)\n",
        r"exercise-7.py, line 2: it ends the program while it is loaded",
    ),
    "os._exit": ("import os\nos._exit(0)\n", r"it ended the process \(status 0\) before the check was over"),
    "a verdict": (
        'print("exercise-7: right. All 14 checks pass.")\n',
        r"exercise-7.py: it has no class on .*",
    ),
    "2 GB": ("x = bytearray(2 << 30)\n", r"exercise-7.py, line 1: loading it raised MemoryError"),
    "fork": ("import os\nos.fork()\n", r".*starting another process is not allowed in a check"),
    "input": ("input()\n", r".*loading it raised EOFError: .*"),
    "flood": (
        'while True:\n    print("x" * 9999)\n',
        r"it printed more than 1 MB, and the check was stopped",
    ),
    "crash": ("import ctypes\nctypes.string_at(0)\n", r"the process ended by SIGSEGV"),
}


@pytest.mark.parametrize("name", LOADING)
def test_case_g1_a_file_that_cannot_be_loaded_is_not_right(name: str, tmp_path: Path) -> None:
    content, sentence = LOADING[name]
    verdict = verdict_of(tmp_path, content)
    assert verdict.exit is Exit.NOT_YET
    assert re.fullmatch(sentence, seen(verdict))


METHODS = {
    "exits": (
        "    async def end_user(self, uid):\n        import os; os._exit(0)\n",
        "exits",
        ".*status 0.*",
    ),
    "sys.exit": (
        "    def new_user(self):\n        raise SystemExit(0)\n",
        "raised",
        r"SystemExit: 0 \(.*line 4\)",
    ),
    "sleeps": (
        "    async def end_user(self, uid):\n        import time; time.sleep(9)\n        self.forget(uid)\n",
        "blocks",
        r"time.sleep\(9\) \(exercise-7.py, line 4\) would have held up every other request; .*",
    ),
    "thread": (
        "    async def end_user(self, uid):\n        import asyncio; await asyncio.to_thread(print)\n",
        "thread",
        "ThreadUsed: Work was given to a thread.*",
    ),
}


@pytest.mark.parametrize("name", METHODS)
def test_case_g2_a_method_cannot_end_or_hold_up_the_check(name: str, tmp_path: Path) -> None:
    body, fault, sentence = METHODS[name]
    verdict = verdict_of(tmp_path, MINE + body)
    assert (verdict.exit, verdict.fault) == (Exit.NOT_YET, fault)
    assert re.fullmatch(sentence, seen(verdict))


LOOP = "    def new_user(self):\n        while True:\n            pass\n"
LOCK = "    def new_user(self):\n        import threading\n        threading.Event().wait()\n"


@pytest.mark.parametrize(("body", "line"), [(LOOP, "[45]"), (LOCK, "5")], ids=["loop", "lock"])
def test_case_g2_a_method_that_never_gives_control_back_is_stopped(
    body: str, line: str, tmp_path: Path
) -> None:
    verdict = verdict_of(tmp_path, MINE + body)
    assert (verdict.exit, verdict.failing[0], verdict.fault) == (Exit.NOT_YET, "end-streaming", "stuck")
    assert re.fullmatch(rf"it did not .*\(exercise-7.py, line {line}, in Mine.new_user\).*", seen(verdict))


def test_what_the_file_prints_is_shown_and_fools_nobody(tmp_path: Path) -> None:
    verdict = verdict_of(
        tmp_path,
        'print("exercise-7: right.")\n' + MINE + "    async def end_user(self, uid):\n        pass\n",
    )
    assert verdict.exit is Exit.NOT_YET
    assert verdict.lines[-2:] == ("Your file printed:", "  exercise-7: right.")


def test_what_is_printed_again_and_again_is_shown_once(tmp_path: Path) -> None:
    verdict = verdict_of(tmp_path, 'for line in "hi", "hi", "ho", "hi":\n    print(line)\n')
    assert verdict.lines[-4:] == ("Your file printed:", "  hi (2 times)", "  ho", "  hi")


def test_what_is_cut_off_is_not_counted_as_all(tmp_path: Path) -> None:
    verdict = verdict_of(tmp_path, 'for _ in range(5000):\n    print("hi")\n')
    assert verdict.lines[-3:] == ("Your file printed:", "  hi (1365 times)", "  ...")


def test_an_exit_handler_that_hangs_does_not_hold_up_a_right_answer(tmp_path: Path) -> None:
    hang = "import atexit, threading\natexit.register(threading.Event().wait)\n"
    assert verdict_of(tmp_path, hang + RIGHT).exit is Exit.RIGHT


SCRIBBLE = """import os
for number in range(3, 64):
    try:
        os.write(number, b"x" * 99)
    except OSError:
        pass
"""


def test_writing_into_every_open_file_passes_for_no_transcript(tmp_path: Path) -> None:
    verdict = verdict_of(tmp_path, SCRIBBLE + RIGHT)
    assert (verdict.exit, verdict.fault) == (Exit.NOT_YET, "confused")


def test_a_file_that_is_not_there_is_not_judged(tmp_path: Path) -> None:
    verdict = check(resolve("5.7"), tmp_path / "no.py", 1, Place(tmp_path))
    assert verdict.exit is Exit.UNDECIDED
    assert "no.py cannot be read: No such file or directory" in verdict.lines[0]


def test_a_child_that_cannot_start_is_nobodys_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner.sys, "executable", "/nowhere/python")
    verdict = verdict_of(tmp_path, RIGHT)
    assert verdict.exit is Exit.UNDECIDED
    sentence = "no process could be started for your file: No such file or directory"
    assert verdict.lines == (f"exercise-7: could not be judged: {sentence}",)
