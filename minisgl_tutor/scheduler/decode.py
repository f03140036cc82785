"""The running requests, each of which goes on by one token in a decode step."""

from __future__ import annotations

from .batch import Batch
from .cache import CacheManager
from .req import Req


class DecodeManager:
    """``running`` keeps the order of arrival, as prompts are computed in it.

    A request runs from the launch of its last prompt chunk until it ends or was
    retracted.
    """

    def __init__(self, cache_manager: CacheManager) -> None:
        self.running: dict[int, Req] = {}
        self._cache_manager = cache_manager

    @property
    def runnable(self) -> bool:
        return any(req.can_launch for req in self.running.values())

    @property
    def lacks_pages(self) -> bool:
        """Not all running requests can get the page that they may need for one more token."""
        room = self._cache_manager.room
        if room >= len(self.running):
            return False
        return room < sum(
            req.can_launch and self._cache_manager.pages_for(req.launched_len + 1) > len(req.pages)
            for req in self.running.values()
        )

    @property
    def youngest(self) -> Req:
        """Of those that run, the one that arrived last; one must run."""
        return next(reversed(self.running.values()))

    def add_req(self, req: Req) -> None:
        self.running[req.uid] = req

    def remove_req(self, req: Req) -> None:
        del self.running[req.uid]

    def abort_req(self, uid: int) -> Req | None:
        """Takes ``uid`` out; None if it is not running (C5.147)."""
        return self.running.pop(uid, None)

    def schedule_next_batch(self) -> Batch | None:
        """All running requests but those whose last token is in flight already.

        If there are too few pages the oldest get them, and those without sit this step out.
        """
        batch = Batch("decode")
        for req in self.running.values():
            if req.can_launch:
                end = req.launched_len + 1
                if self._cache_manager.grow(req, end):
                    batch.add(req, end)
        return batch if batch.reqs else None
