"""The listener waits until the reader has caught up, and with it all others wait.

Fails: stops-reading: runs-on
"""

from __future__ import annotations

import asyncio

from minisgl_tutor.message import ErrorReply, UserReply, unwrap
from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    async def listen(self) -> None:
        while True:
            for reply in unwrap(await self.recv_tokenizer.get()):
                assert isinstance(reply, UserReply | ErrorReply)
                while len(self.ack_map.get(reply.uid, [])) >= self.backlog_limit:
                    await asyncio.sleep(0.05)
                if self.expects(reply.uid):
                    self.file_reply(reply)

    def file_reply(self, reply: Reply) -> None:
        self.ack_map[reply.uid].append(reply)
        if reply.finished:
            self.unanswered.discard(reply.uid)
        self.event_map[reply.uid].set()
