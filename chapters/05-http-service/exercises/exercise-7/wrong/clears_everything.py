"""When a request ends both maps are emptied, with what others wait for.

Fails: neighbours: raised
"""

from __future__ import annotations

from minisgl_tutor.server.frontend import FrontendManager


class MyFrontendManager(FrontendManager):
    def forget(self, uid: int) -> None:
        self.ack_map.clear()
        self.event_map.clear()
        self.unanswered.clear()
