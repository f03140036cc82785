"""A check leaves nothing behind in the process that made it."""

from __future__ import annotations

import threading

from minisgl_tutor.exercises.catalogue import exercises
from minisgl_tutor.exercises.runner import running

PATIENCE_S = 30.0


def test_the_threads_and_pipes_of_a_check_end_with_it() -> None:
    """Also if it ends early, as after a first fault: ``watch`` makes one check after the other."""
    exercise = exercises()[0]
    before = set(threading.enumerate())
    with running(exercise.path / "starter.py", exercise.key) as runner:
        runner.wait_ready()
    for thread in set(threading.enumerate()) - before:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
