"""The entries go as soon as the finished reply has come, before its consumer has read it: KeyError.

Fails: end-streaming: raised
"""

from __future__ import annotations

from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    def file_reply(self, reply: Reply) -> None:
        super().file_reply(reply)
        if reply.finished:
            self.forget(reply.uid)
