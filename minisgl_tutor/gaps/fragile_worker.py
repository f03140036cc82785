"""A request that cannot be tokenized ends its worker, and with it the service for everybody.

Nobody notices: the API server still takes requests and lists its models, and what
is sent to the worker is never read. (Here the worker goes deaf instead of dying, as
the launcher would notice a death and end the server.)
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from ..message import ErrorReply, TokenizeMsg
from ..tokenizer.server import TokenizeWorker
from ..tokenizer.tokenize import TokenizeManager

logger = logging.getLogger(__name__)


class CannotTokenize(Exception):
    """Nobody catches it, up to the end of the worker."""


class FragileTokenizeManager(TokenizeManager):
    def tokenize(self, msgs: Sequence[TokenizeMsg]) -> list[list[int] | ErrorReply]:
        results = super().tokenize(msgs)
        for result in results:
            if isinstance(result, ErrorReply):
                raise CannotTokenize(result.message)
        return results


class FragileWorker(TokenizeWorker):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._is_dead = False

    def round(self, blocking: bool) -> None:
        if self._is_dead:
            self.recv_listener.drain(blocking)
            return
        try:
            super().round(blocking)
        except CannotTokenize:
            logger.exception("the worker is dead")
            self._is_dead = True
