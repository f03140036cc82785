"""Hands the steps of a play on while it goes on, each once nothing about it will change any more."""

from __future__ import annotations

from collections.abc import Callable

from .steps import Step

MOST_WAITING = 4096
"""So many steps wait behind one that is not over. Of one that never will be, no more is waited for."""


class Feed:
    """Takes steps off the list ``steps``, and gives them in their order.

    ``error`` is what ``give`` raised. Nothing is given after that.
    """

    def __init__(self, steps: list[Step], give: Callable[[Step], None]) -> None:
        self.error: Exception | None = None
        self._steps = steps
        self._give = give
        self._going_on: set[int] = set()

    def entered(self, step: Step) -> None:
        if step.kind in ("message", "call"):
            self._going_on.add(step.number)
        self._hand_on(MOST_WAITING)

    def over(self, step: Step) -> None:
        self._going_on.discard(step.number)

    def end(self) -> None:
        """Gives what is left."""
        self._hand_on(0)

    def _hand_on(self, most: int) -> None:
        done = 0
        for step in self._steps:
            if step.number in self._going_on and len(self._steps) - done <= most:
                break
            self._going_on.discard(step.number)
            self._hand(step)
            done += 1
        del self._steps[:done]

    def _hand(self, step: Step) -> None:
        if self.error is None:
            try:
                self._give(step)
            except Exception as error:
                self.error = error
