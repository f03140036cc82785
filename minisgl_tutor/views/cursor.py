"""Where a reader is in the list of steps, and the ways to go on from there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..trace.steps import Step


class Cursor:
    """Stands at one of ``steps``, of which there is at least one. Each way on says whether it led anywhere.

    ``uid`` is the request that the reader follows: the one chosen, as long as the step is about it, else the
    step's first.
    """

    def __init__(self, steps: Sequence[Step], number: int = 1) -> None:
        self.steps = steps
        self._chosen: int | None = None
        self._place = 0
        self.to(number)

    @property
    def step(self) -> Step:
        return self.steps[self._place]

    @property
    def uid(self) -> int | None:
        uids = self.step.uids
        return self._chosen if self._chosen in uids else next(iter(uids), self._chosen)

    def to(self, number: int) -> bool:
        """The step of that number, or the last or first one if there is none so high or low."""
        before = self._place
        self._place = min(max(number, 1), len(self.steps)) - 1
        return self._place != before

    def move(self, by: int) -> bool:
        return self.to(self.step.number + by)

    def next_of_uid(self, direction: int = 1) -> bool:
        """The next step about :attr:`uid`, which stays chosen."""
        uid = self._chosen = self.uid
        return self._find(lambda step: uid in step.uids, direction)

    def next_gap(self, direction: int = 1) -> bool:
        """The next thing that the auditor found."""
        return self._find(lambda step: step.kind == "gap", direction)

    def next_titled(self, title: str, direction: int = 1) -> bool:
        """The next step of that title: a type of message, or what a client does."""
        return self._find(lambda step: step.title == title, direction)

    def choose_next_uid(self) -> bool:
        """Of several requests in one step, the one behind :attr:`uid`."""
        uids = self.step.uids
        if len(uids) < 2:
            return False
        assert self.uid is not None
        self._chosen = uids[(uids.index(self.uid) + 1) % len(uids)]
        return True

    def titles(self) -> list[str]:
        """What there is to go to with :meth:`next_titled`, in the order of first appearance."""
        return list(dict.fromkeys(step.title for step in self.steps))

    def _find(self, wanted: Callable[[Step], bool], direction: int) -> bool:
        place = self._place + direction
        while 0 <= place < len(self.steps):
            if wanted(self.steps[place]):
                self._place = place
                return True
            place += direction
        return False
