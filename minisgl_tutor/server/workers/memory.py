"""What a process has made by the time it is ready stays: the garbage collector need not look there."""

from __future__ import annotations

import gc


def freeze_memory() -> None:
    """Takes all present objects out of the garbage collector's view.

    A full collection that looks through all modules stops a process for a tenth of
    a second or more. One that looks through what requests have made takes milliseconds.
    """
    gc.collect()
    gc.freeze()
