"""A request whose sending fails is not cleaned up: its life has begun before it is owned.

Fails: send-fails: kept
"""

from __future__ import annotations

from minisgl_tutor.message import SamplingParams, TokenizeMsg
from minisgl_tutor.server.frontend import FrontendManager


class MyFrontendManager(FrontendManager):
    async def submit(self, text: str | list[dict[str, str]], sampling_params: SamplingParams) -> int:
        uid = self.new_user()
        await self.send_one(TokenizeMsg(uid=uid, text=text, sampling_params=sampling_params))
        return uid
