"""The state of a request is deleted before its abort is sent, and with it the knowledge that one is due.

Whether a request still needs an abort is looked up in what has just been deleted,
so none is sent: the front end is clean, and the engine works on for nobody (C5.138).
"""

from __future__ import annotations

from ..server.frontend import FrontendManager


class ForgetFirst(FrontendManager):
    async def end_user(self, uid: int) -> None:
        self.forget(uid)
        await self.abort_user(uid)  # which sends nothing: no finished reply is awaited any more
