"""Replies for a slow reader pile up: nothing bounds them and nothing is fed back (C5.168, C5.170)."""

from __future__ import annotations

from ..server.frontend import FrontendManager


class EndlessBacklog(FrontendManager):
    def overflow(self, uid: int) -> None:
        pass
