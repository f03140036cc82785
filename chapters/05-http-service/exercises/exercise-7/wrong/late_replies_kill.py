"""Nobody looks whether a reply is still expected: a late one ends the listener, and so every answer.

Fails: leave-waiting: raised
"""

from __future__ import annotations

from minisgl_tutor.server.frontend import FrontendManager


class MyFrontendManager(FrontendManager):
    def expects(self, uid: int) -> bool:
        return True
