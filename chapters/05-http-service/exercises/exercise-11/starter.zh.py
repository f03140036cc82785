"""练习 11：客户端不读，等着它的回复也要有上限。

每来一条还有人等的回复，继承来的 `listen` 就调用 `file_reply`；`wait_for_ack` 把已经到了的取走，
客户端读得多快，它就取得多快。这个类让多少条等着都可以。允许的条数是 `self.backlog_limit`。
题目要求见旁边的 exercise-11.zh.md。
"""

from __future__ import annotations

from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    def file_reply(self, reply: Reply) -> None:
        self.ack_map[reply.uid].append(reply)
        if reply.finished:
            self.unanswered.discard(reply.uid)
        self.event_map[reply.uid].set()
