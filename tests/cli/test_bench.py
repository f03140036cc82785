"""``bench`` as a user types it."""

from __future__ import annotations

import subprocess
import sys


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "minisgl_tutor", "bench", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_a_model_that_is_not_there_is_one_sentence() -> None:
    ended = bench("offline", "--model", "./no-such-model", "--device", "cpu")
    assert ended.returncode == 1
    assert ended.stderr.startswith("Error: There is no file or directory ./no-such-model")
    assert ended.stderr.count("\n") == 1
    assert not ended.stdout


def test_without_a_benchmark_it_lists_them() -> None:
    ended = bench()
    assert "offline" in ended.stdout + ended.stderr
