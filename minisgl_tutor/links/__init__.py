"""Links carry encoded messages between components: ZeroMQ sockets, or queues in memory.

Both carry the same bytes behind the same four interfaces (``base``), so a
component cannot tell which it is bound to.
"""

from .base import AsyncPull, AsyncPush, LinkObserver, NoObserver, Observers, SyncPull, SyncPush
from .memory import MemoryAsyncPull, MemoryAsyncPush, MemoryChannel, MemoryPull, MemoryPush

__all__ = [
    "AsyncPull",
    "AsyncPush",
    "LinkObserver",
    "MemoryAsyncPull",
    "MemoryAsyncPush",
    "MemoryChannel",
    "MemoryPull",
    "MemoryPush",
    "NoObserver",
    "Observers",
    "SyncPull",
    "SyncPush",
]
