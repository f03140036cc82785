"""The uid of a request that has ended is given to the next one, which then gets the other's late replies.

Fails: neighbours: uid-twice
"""

from __future__ import annotations

from minisgl_tutor.server.frontend import FrontendManager


class MyFrontendManager(FrontendManager):
    def new_user(self) -> int:
        self.uid_counter = next(uid for uid in range(len(self.ack_map) + 1) if uid not in self.ack_map)
        return super().new_user()
