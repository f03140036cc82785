"""Requests and aborts go to the tokenizers in turn, so an abort may overtake its own request.

The abort reaches the scheduler through an idle tokenizer while another one still
works on the long text of the request. The scheduler does not know the uid and drops
the abort (C5.146); then the request comes, and runs for nobody to its limit.
"""

from __future__ import annotations

from itertools import cycle
from typing import Any

from ..message import AbortMsg, TokenizeMsg
from ..server.frontend import FrontendManager


class OvertakingAbort(FrontendManager):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._in_turn = cycle(self.send_tokenizers)

    async def send_one(self, msg: TokenizeMsg | AbortMsg) -> None:
        self._create_listener_once()
        await next(self._in_turn).put(msg)
