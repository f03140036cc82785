"""Exercise 11: of a client that does not read, only so much may wait.

`listen`, which you inherit, calls `file_reply` for every reply that comes to a request that
is expected, and `wait_for_ack` takes what is there, as fast as its client reads. This class
lets any number wait. `self.backlog_limit` is how many may. What to do is in exercise-11.md beside
this file.
"""

from __future__ import annotations

from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    def file_reply(self, reply: Reply) -> None:
        self.ack_map[reply.uid].append(reply)
        if reply.finished:
            self.unanswered.discard(reply.uid)
        self.event_map[reply.uid].set()
