"""An engine that gives recorded tokens, at recorded times.

Tokens are keyed by request and index, so a play may batch, chunk or cut them
otherwise than the recorded run did and still gets the same ones. Past the
recorded end of a request come filler tokens, which ``beyond`` counts. Nothing but
the recorded token can come, so its probability is 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .base import EngineInfo, ForwardBatch, Logprobs


@dataclass(frozen=True)
class RecordedStep:
    """A step of the recorded run: when it was handed over, when its tokens were read, and its rows."""

    launch_us: int
    read_us: int
    rids: tuple[int, ...]
    seq_lens: tuple[int, ...]


@dataclass(frozen=True)
class RecordedAnswer:
    """The tokens of one request. ``prompt_len`` is the number of its prompt tokens."""

    prompt_len: int
    tokens: tuple[int, ...]


class RecordedOutput:
    """A step whose tokens can be read from ``read_us`` on."""

    def __init__(self, engine: RecordedEngine, batch: ForwardBatch, tokens: list[int], read_us: int) -> None:
        self._engine = engine
        self._batch = batch
        self._tokens = tokens
        self.read_us = read_us

    def next_tokens(self) -> list[int]:
        self._engine.note_read(self)
        return self._tokens

    def logprobs(self) -> Logprobs:
        wanted = self._batch.sampling.logprobs
        assert wanted is not None, "no row of the step asked for logprobs"
        chosen = np.array([self._tokens[row] for row in wanted.rows], np.int64)
        top = chosen[:, None][:, : wanted.top]
        return Logprobs(np.zeros(chosen.shape, np.float32), top, np.zeros(top.shape, np.float32))


class RecordedEngine:
    """Plays ``answers`` back.

    ``rid_of`` maps a uid of this run to the recording's; ``now_us`` is
    the clock. As long as this run's steps are the recorded ones they take their
    recorded times; from the first that differs on, each takes the median of the
    recorded steps. The engine never waits: whoever drives the scheduler asks
    :meth:`next_event_us` when its next round is due, and lets what a round sent
    leave at ``read_until_us``.
    """

    def __init__(
        self,
        info: EngineInfo,
        answers: dict[int, RecordedAnswer],
        steps: list[RecordedStep],
        rid_of: Callable[[int], int],
        now_us: Callable[[], int],
        filler: int = 0,
    ) -> None:
        self.info = info
        self.read_until_us = 0
        self.beyond: dict[int, int] = {}
        self._given: dict[int, int] = {}  # tokens, by uid
        self._ends: dict[int, int] = {}  # how many of them were recorded, where a request went on
        self._answers = answers
        self._steps = steps
        self._rid_of = rid_of
        self._now_us = now_us
        self._filler = filler
        self._launched = 0
        self._follows = True
        self._in_flight: list[RecordedOutput] = []
        durations = sorted(step.read_us - step.launch_us for step in steps)
        self._median_us = durations[len(durations) // 2] if durations else 10_000

    def forward_batch(self, batch: ForwardBatch) -> RecordedOutput:
        rids = tuple(self._rid_of(uid) for uid in batch.uids)
        seq_lens = tuple(batch.seq_lens.tolist())
        tokens = [
            self._token(uid, rid, length) if emits else -1
            for uid, rid, length, emits in zip(batch.uids, rids, seq_lens, batch.emits.tolist(), strict=True)
        ]
        output = RecordedOutput(self, batch, tokens, self._read_time(rids, seq_lens))
        self._launched += 1
        self._in_flight.append(output)
        return output

    def next_event_us(self) -> int | None:
        """When something happened next in the recorded run: a step was handed over, or the oldest step in
        flight was read. Null when this run does not follow the recorded one any more.
        """
        if not self._follows:
            return None
        due = [output.read_us for output in self._in_flight[:1]]
        due += [step.launch_us for step in self._steps[self._launched : self._launched + 1]]
        return min(due, default=None)

    def note_read(self, output: RecordedOutput) -> None:
        self._in_flight.remove(output)
        self.read_until_us = max(self.read_until_us, output.read_us)

    def close(self) -> None:
        self._in_flight.clear()

    def is_beyond(self, uid: int, index: int) -> bool:
        """Whether the ``index``-th token that this run gave ``uid`` is past the recorded end."""
        end = self._ends.get(uid)
        return end is not None and index >= end

    def _token(self, uid: int, rid: int, seq_len: int) -> int:
        self._given[uid] = self._given.get(uid, 0) + 1
        answer = self._answers.get(rid)
        index = seq_len - answer.prompt_len if answer is not None else -1
        if answer is not None and 0 <= index < len(answer.tokens):
            return answer.tokens[index]
        self.beyond[uid] = self.beyond.get(uid, 0) + 1
        self._ends.setdefault(uid, self._given[uid] - 1)
        return self._filler

    def _read_time(self, rids: tuple[int, ...], seq_lens: tuple[int, ...]) -> int:
        now = self._now_us()
        if self._follows and self._launched < len(self._steps):
            step = self._steps[self._launched]
            if (step.rids, step.seq_lens) == (rids, seq_lens):
                return max(now, step.read_us)
        self._follows = False
        begins = max([now, self.read_until_us, *(output.read_us for output in self._in_flight)])
        return begins + self._median_us
