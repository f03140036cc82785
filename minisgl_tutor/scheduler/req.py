"""One request on the scheduler's side: its tokens, how far it has come, what it holds."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..message import SamplingParams, Usage
from .prefix import Prefix


@dataclass(eq=False, slots=True)
class Req:
    """A request between its arrival and the return of all that it holds.

    Steps are launched ahead of what the host knows, so there are two counts of
    its progress::

        positions   0 ........ computed_len ........ launched_len ........ max_len
                    K/V is there           K/V is there once the
                                           steps in flight have run

    ``length`` tokens of ``token_ids`` are known to the host, the prompt's
    ``prompt_len`` first. ``max_len`` bounds prompt and output together; the last
    token is never fed back, so K/V is needed for ``max_len - 1`` positions.

    Prefill computes the first ``prefill_len`` tokens: those of the prompt, and
    after a retraction those generated until then as well. ``retracted`` is set
    while the step in flight of a retracted one runs; ``cached_len`` is the part
    of the prompt that the cache had when it was admitted for the first time.

    While admitted it has a table ``slot`` and ``pages`` for the positions from 0
    on, of which the first ``mapped`` are in the engine's page table. It can come to
    need ``rest`` more; ``reserved`` of these are set aside for it. ``prefix`` is the
    path in the prefix cache that it keeps locked.
    """

    uid: int
    token_ids: np.ndarray
    prompt_len: int
    max_len: int
    sampling_params: SamplingParams
    seed: int
    length: int = 0
    prefill_len: int = 0
    cached_len: int = 0
    computed_len: int = 0
    launched_len: int = 0
    in_flight: int = 0
    retracted: bool = False
    ended: bool = False
    aborted: bool = False
    slot: int | None = None
    pages: list[int] = field(default_factory=list)
    mapped: int = 0
    rest: int = 0
    reserved: int = 0
    prefix: Prefix | None = None

    @classmethod
    def of_prompt(
        cls, uid: int, prompt: list[int], max_tokens: int, sampling_params: SamplingParams, seed: int
    ) -> Req:
        """A new request that may generate ``max_tokens`` tokens."""
        prompt_len = len(prompt)
        token_ids = np.empty(prompt_len + max_tokens, np.int32)
        token_ids[:prompt_len] = prompt
        max_len = prompt_len + max_tokens
        return cls(uid, token_ids, prompt_len, max_len, sampling_params, seed, prompt_len, prompt_len)

    @property
    def can_decode(self) -> bool:
        """By what has arrived, there is room for one more token (C2.70)."""
        return self.length < self.max_len

    @property
    def can_launch(self) -> bool:
        """One more decode step may be launched: the token that it would sample is within the limit.

        Counts the steps in flight, so no step is launched past the limit.
        """
        return self.launched_len + 1 < self.max_len and not self.retracted

    def begin(self, cached_len: int) -> None:
        """It was admitted, with the K/V of its first ``cached_len`` positions from the cache."""
        self.computed_len = self.launched_len = cached_len
        if self.prefill_len == self.prompt_len:
            self.cached_len = cached_len

    def launch(self, end: int) -> None:
        """A step that computes its K/V up to position ``end`` was handed to the engine."""
        self.launched_len = end
        self.in_flight += 1

    def drain(self, end: int) -> None:
        """That step has run."""
        self.computed_len = end
        self.in_flight -= 1

    def append_host(self, token: int) -> None:
        """A sampled token has arrived (C2.69)."""
        self.token_ids[self.length] = token
        self.length += 1

    def start_over(self) -> None:
        """It holds nothing any more; the tokens that it has are to be computed again, as a prompt is.

        The positions of those to come, and with its seed their draws, stay what they were.
        """
        self.prefill_len = self.length
        self.computed_len = self.launched_len = self.mapped = 0
        self.retracted = False

    @property
    def known_and_computed(self) -> np.ndarray:
        """The tokens that are known and whose K/V is there: what a prefix cache may keep."""
        return self.token_ids[: min(self.length, self.computed_len)]

    @property
    def usage(self) -> Usage:
        return Usage(self.prompt_len, self.length - self.prompt_len, self.cached_len)
