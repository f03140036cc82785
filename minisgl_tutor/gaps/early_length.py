"""Whether a token was the last one is read a step late: of the count behind the next launch (C2.70).

With overlap the next step is launched before the token is looked at, so the count
is one ahead and the answer is one token short. An answer of one token is right.
"""

from __future__ import annotations

from ..message import SamplingParams
from ..scheduler.req import Req
from ..scheduler.scheduler import Scheduler


class HastyReq(Req):
    """Knows its length by what was launched, not by what has arrived."""

    __slots__ = ()

    @property
    def can_decode(self) -> bool:
        return self.launched_len + 1 < self.max_len


class EarlyLength(Scheduler):
    def _new_req(self, uid: int, prompt: list[int], params: SamplingParams) -> Req:
        req = super()._new_req(uid, prompt, params)
        return HastyReq.of_prompt(uid, prompt, req.max_len - req.prompt_len, params, req.seed)
