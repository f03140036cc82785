"""A late reply makes new entries for its request, which nobody will ever take away.

Fails: late-replies: comes-back
"""

from __future__ import annotations

import asyncio

from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    def expects(self, uid: int) -> bool:
        return True

    def file_reply(self, reply: Reply) -> None:
        self.ack_map.setdefault(reply.uid, [])
        self.event_map.setdefault(reply.uid, asyncio.Event())
        super().file_reply(reply)
