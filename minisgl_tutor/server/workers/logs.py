"""One log format for the API server and its workers: each line names its process."""

from __future__ import annotations

import logging

LINE = "%(asctime)s %(levelname)s %(processName)s: %(message)s"


def configure_logging(level: str) -> None:
    """Logs to stderr from ``level`` on; libraries from WARNING on."""
    logging.basicConfig(level=logging.WARNING, format=LINE, datefmt="%H:%M:%S", force=True)
    logging.getLogger("minisgl_tutor").setLevel(level.upper())
