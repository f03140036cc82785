"""How likely the model found the tokens that were drawn, and which it found likeliest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..message import LEAST_LOGPROB
from .base import LogprobRows, Logprobs
from .transfer import to_device


@dataclass(frozen=True)
class LogprobsUnderWay:
    """On their way to the host; ``arrived`` may be called once the step is known to have run."""

    chosen: Tensor
    top_tokens: Tensor
    top_logprobs: Tensor

    def arrived(self) -> Logprobs:
        return Logprobs(self.chosen.numpy(), self.top_tokens.numpy(), self.top_logprobs.numpy())


def find_logprobs(logits: Tensor, tokens: Tensor, wanted: LogprobRows, rows: np.ndarray) -> LogprobsUnderWay:
    """For the rows in ``wanted``, given scores [rows, vocab] and drawn tokens of ``rows`` (ascending).

    A score that is not a number counts as the lowest.
    """
    places = to_device(np.searchsorted(rows, wanted.rows), logits.device)
    highest = torch.finfo(torch.float32).max
    scores = logits[places].float().nan_to_num(nan=-torch.inf, posinf=highest, neginf=-torch.inf)
    logprobs = torch.log_softmax(scores, dim=-1).nan_to_num(nan=LEAST_LOGPROB).clamp(min=LEAST_LOGPROB)
    chosen = logprobs.gather(1, tokens[places].long()[:, None])[:, 0]
    top = logprobs.topk(min(wanted.top, logprobs.shape[1]), dim=-1)
    return LogprobsUnderWay(*(x.to("cpu", non_blocking=True) for x in (chosen, top.indices, top.values)))
