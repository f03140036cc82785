"""A finalizer cleans up when the garbage collector has found the generator, if it ever does.

Fails: end-streaming: kept
"""

from __future__ import annotations

import weakref
from collections.abc import AsyncGenerator
from typing import Any

from minisgl_tutor.server.frontend import FrontendManager


class MyFrontendManager(FrontendManager):
    def stream_with_cancellation(self, generator: AsyncGenerator[bytes, None], request: Any, uid: int) -> Any:
        weakref.finalize(generator, self.forget, uid)
        return generator
