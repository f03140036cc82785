"""Decides when a request is computed, and with whom; owns its pages, its slot and its end.

A request comes in as a ``UserMsg`` and leaves behind exactly one terminal reply:
a finished ``DetokenizeMsg``, or an ``ErrorReply``. It passes through::

    waiting (prefill manager) -> running (decode manager) -> ended -> [draining] -> gone
               ^                      |
               +---- [retracted] <----+

It drains while a step in flight still uses its slot and pages: those are given
back, and the end of an abort is told, only when the last such step has run.

If the running ones need more pages than there are, the youngest is retracted: it
gives back all that it holds, and waits at the head of the queue to be computed
again, with the tokens that it has so far as its prompt. A step in flight is not
lost by that: its token is taken in and sent as usual, which may even end the
request, and only then is anything given back. Nobody outside can tell.

Admission takes the oldest that wait and retraction the youngest that run, so the
oldest of all is retracted only when it is alone, and then is admitted at once:
it always gets on. ``cache.py`` says why no admission sets those back who run.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Sequence

from ..engine.base import Engine, ForwardOutput
from ..links import SyncPull, SyncPush
from ..message import (
    AbortBackendMsg,
    BatchTokenizerMsg,
    DetokenizeMsg,
    DetokenizerMsg,
    ErrorReply,
    FinishReason,
    SamplingParams,
    Single,
    StopStringsMsg,
    Usage,
    UserMsg,
)
from ..server.config import SchedulerConfig
from .batch import ForwardInput, prepare_batch
from .cache import CacheManager
from .decode import DecodeManager
from .integrity import check_integrity
from .prefill import PrefillManager
from .prefix import NaiveCache
from .radix import RadixCache
from .req import Req
from .table import TableManager
from .validate import find_problem, length_limit
from .wishes import logprobs_by_row

logger = logging.getLogger(__name__)
LastData = tuple[ForwardInput, ForwardOutput]


class Scheduler:
    """One scheduler and the engine that it calls.

    ``eos_token_ids`` end a request unless it says ``ignore_eos``. The same
    messages in the same rounds give the same steps and the same replies.
    """

    def __init__(
        self,
        engine: Engine,
        config: SchedulerConfig,
        eos_token_ids: frozenset[int],
        recv_tokenizer: SyncPull,
        send_detokenizer: SyncPush,
    ) -> None:
        if config.prefill_budget < 1:
            raise ValueError(f"prefill_budget is {config.prefill_budget}: it must be at least 1 token")
        if config.head_room < 1:
            raise ValueError(f"head_room is {config.head_room}: it must be at least 1 token")
        info = engine.info
        prefix_cache = RadixCache(info.page_size) if config.cache == "radix" else NaiveCache()
        self.engine = engine
        self.config = config
        self.eos_token_ids = eos_token_ids
        self.max_len = length_limit(info)
        self.prefill_budget = config.prefill_budget
        self.table_manager = TableManager(info.num_slots)
        head_room = None if config.admission == "reserve" else -(-config.head_room // info.page_size)
        self.cache_manager = CacheManager(info.num_pages, info.page_size, prefix_cache, head_room)
        self.prefill_manager = PrefillManager(self.cache_manager, self.table_manager)
        self.decode_manager = DecodeManager(self.cache_manager)
        self.requests: dict[int, Req] = {}
        """Those whose terminal reply is still to come, by uid."""
        self.draining: dict[int, Req] = {}
        """Ended ones that a step in flight still uses, by slot."""
        self.last_data: LastData | None = None
        """The step in flight between two rounds of ``overlap_loop``."""
        self.reply: list[DetokenizerMsg] = []
        """What this round has to say."""
        self._recv_tokenizer = recv_tokenizer
        self._send_detokenizer = send_detokenizer
        self._seeds = random.Random(config.seed)

    # The loop.

    def run_forever(self) -> None:
        while True:
            self.round()

    def round(self) -> None:
        """One round of the configured loop."""
        if self.config.overlap:
            self.overlap_loop()
        else:
            self.normal_loop()

    def normal_loop(self) -> None:
        """One round: a step is launched, and its results are processed (C2.63, C2.66)."""
        for msg in self.receive_msg(blocking=not self.busy):
            self._process_one_msg(msg)
        forward_input = self._schedule_next_batch()
        ongoing_data = None
        if forward_input is not None:
            ongoing_data = (forward_input, self._forward(forward_input))
        self._process_last_data(ongoing_data)

    def overlap_loop(self) -> None:
        """One round: while a step runs, the results of the one before it are processed (C2.68)."""
        for msg in self.receive_msg(blocking=not self.busy):
            self._process_one_msg(msg)
        forward_input = self._schedule_next_batch()
        ongoing_data = None
        if forward_input is not None:
            ongoing_data = (forward_input, self._forward(forward_input))
        self._process_last_data(self.last_data)
        self.last_data = ongoing_data

    @property
    def busy(self) -> bool:
        """A further round would do something without a new message."""
        return self.prefill_manager.runnable or self.decode_manager.runnable or self.last_data is not None

    def receive_msg(self, blocking: bool) -> list[Single]:
        return self._recv_tokenizer.drain(blocking)

    def send_result(self, reply: Sequence[DetokenizerMsg]) -> None:
        """Sends the messages of a round in one; a single one goes unwrapped."""
        self._send_detokenizer.put(reply[0] if len(reply) == 1 else BatchTokenizerMsg(list(reply)))

    # The stages of a round.

    def _process_one_msg(self, msg: Single) -> None:
        """Files a request or takes one out. No message, however wrong, ends the scheduler."""
        if isinstance(msg, UserMsg):
            self._add_request(msg)
        elif isinstance(msg, AbortBackendMsg):
            req = self.prefill_manager.abort_req(msg.uid) or self.decode_manager.abort_req(msg.uid)
            if req is not None:
                req.aborted = True
                self._end_req(req)
        else:
            logger.error("the scheduler has no use for a %s: dropped", type(msg).__name__)

    def _schedule_next_batch(self) -> ForwardInput | None:
        """Waiting prompts if any fits, else one more token for the running ones (C2.78, C2.79)."""
        batch = self.prefill_manager.schedule_next_batch(self.prefill_budget)
        if batch is None:
            self._make_room()
            batch = self.decode_manager.schedule_next_batch()
        return None if batch is None else prepare_batch(batch, self.table_manager)

    def _make_room(self) -> None:
        """Retracts the youngest that run until the others have their pages for a decode step.

        Pages that come back in this round anyway are waited for.
        """
        while self.decode_manager.lacks_pages and not self._pages_come_back:
            self._retract(self.decode_manager.youngest)

    @property
    def _pages_come_back(self) -> bool:
        """Somebody holds pages only as long as the step in flight runs."""
        return bool(self.draining) or not all(req.can_launch for req in self.decode_manager.running.values())

    def _forward(self, forward_input: ForwardInput) -> ForwardOutput:
        """Hands a step to the engine, and notes how far its requests come by it (C2.88)."""
        batch = forward_input.batch
        output = self.engine.forward_batch(batch)
        for req, end in zip(forward_input.reqs, batch.seq_lens.tolist(), strict=True):
            req.launch(end)
            if end == req.prefill_len:
                self.decode_manager.add_req(req)
        return output

    def _process_last_data(self, last_data: LastData | None) -> None:
        """Takes in the results of a step, decides who is finished, sends the replies (C5.115).

        What arrives for a request that has ended is dropped.
        """
        if last_data is not None:
            forward_input, output = last_data
            ends = forward_input.batch.seq_lens.tolist()
            tokens, logprobs = output.next_tokens(), {}
            wanted = forward_input.batch.sampling.logprobs
            if wanted is not None:
                logprobs = logprobs_by_row(output.logprobs(), wanted, forward_input.reqs, tokens)
            for row, (req, end, token) in enumerate(zip(forward_input.reqs, ends, tokens, strict=True)):
                req.drain(end)
                if req.ended:
                    self._drop_late(req, token)
                    continue
                if end < req.prefill_len:
                    continue
                if end == req.prefill_len:
                    self._keep_prefix(req)
                if req.sampling_params.stop and req.length == req.prompt_len:
                    prompt = Usage(req.prompt_len, 0, req.cached_len)
                    self.reply.append(StopStringsMsg(req.uid, req.sampling_params.stop, prompt))
                req.append_host(token)
                reason = self._finish_reason(req, token)
                if reason is None:
                    self.reply.append(DetokenizeMsg(req.uid, token, logprobs=logprobs.get(row)))
                    if req.retracted:
                        self._requeue_if_drained(req)
                    continue
                self.reply.append(DetokenizeMsg(req.uid, token, True, reason, req.usage, logprobs.get(row)))
                self._finish_req(req)
        if self.reply:
            reply, self.reply = self.reply, []
            self.send_result(reply)

    # The life of a request.

    def _add_request(self, msg: UserMsg) -> None:
        if msg.uid in self.requests:
            # An error reply would end the one that is alive.
            logger.error("request %d is alive already: the second one is dropped", msg.uid)
            return
        problem = find_problem(msg, self.engine.info)
        if problem is not None:
            self._reject(msg.uid, problem.message, problem.code, problem.param)
            return
        req = self._new_req(msg.uid, msg.input_ids, msg.sampling_params)
        self.requests[msg.uid] = req
        self.prefill_manager.add_one_req(req)

    def _new_req(self, uid: int, prompt: list[int], params: SamplingParams) -> Req:
        """A request that may generate ``max_tokens`` tokens, or as many as fit; with a seed in any case."""
        max_tokens = min(params.max_tokens, self.max_len - len(prompt))
        seed = self._seeds.getrandbits(64) if params.seed is None else params.seed
        return Req.of_prompt(uid, prompt, max_tokens, params, seed)

    def _reject(self, uid: int, message: str, code: str, param: str | None) -> None:
        """The terminal reply of a request that cannot be served. Nothing is held for it."""
        self.reply.append(ErrorReply(uid, message, 400, code, param))

    def _keep_prefix(self, req: Req) -> None:
        """The K/V of its whole prompt is there."""
        self.cache_manager.keep_prefix(req)

    def _retract(self, req: Req) -> None:
        """``req`` runs no further for now. It stays among the running while a step in flight uses it."""
        req.retracted = True
        self._requeue_if_drained(req)

    def _requeue_if_drained(self, req: Req) -> None:
        """Gives all back that a retracted request holds, unless a step in flight still uses it."""
        if req.in_flight:
            return
        self.decode_manager.remove_req(req)
        self._free_req_resources(req)
        req.start_over()
        self.prefill_manager.add_retracted_req(req)

    def _finish_reason(self, req: Req, token: int) -> FinishReason | None:
        """Why ``token``, the newest that ``req`` has, is its last one; None if it is not (C2.70 to C2.72)."""
        if token in self.eos_token_ids and not req.sampling_params.ignore_eos:
            return "stop"
        return None if req.can_decode else "length"

    def _finish_req(self, req: Req) -> None:
        """``req`` has had its finished reply."""
        del self.requests[req.uid]
        self.decode_manager.remove_req(req)
        self._end_req(req)

    def _end_req(self, req: Req) -> None:
        """``req`` is in no queue any more, and no step will be launched for it."""
        req.ended = True
        if req.slot is not None:
            self.draining[req.slot] = req
        self._release_if_drained(req)

    def _drop_late(self, req: Req, token: int) -> None:
        """``token`` came for a request that had ended when its step had yet to run."""
        self._release_if_drained(req)

    def _release_if_drained(self, req: Req) -> None:
        """Gives all back that an ended request holds, unless a step in flight still uses it."""
        if req.in_flight:
            return
        if req.slot is not None:
            del self.draining[req.slot]
        self._free_req_resources(req)
        if req.aborted:
            self._send_aborted(req.uid)
            del self.requests[req.uid]

    def _send_aborted(self, uid: int) -> None:
        """The terminal reply of an aborted request, behind the last step that was under way for it.

        It tells those behind the scheduler to forget the request.
        """
        self.reply.append(
            DetokenizeMsg(uid, finished=True, finish_reason="abort", usage=self.requests[uid].usage)
        )

    def _free_req_resources(self, req: Req) -> None:
        """Gives its table slot back, and its pages to the prefix cache or to the free ones (C5.117)."""
        self.table_manager.free(req)
        self.cache_manager.release(req)

    # What people and tests may look at.

    def held(self) -> dict[int, dict[str, int]]:
        """By uid: a request's state, its slot, and the number of pages in its row of the page table."""
        held: dict[int, dict[str, int]] = {}
        states = {
            "waiting": self.prefill_manager.waiting,
            "running": self.decode_manager.running,
            "draining": self.draining,
        }
        for state, reqs in states.items():
            for req in reqs.values():
                entry = held.setdefault(req.uid, {})
                amounts = {state: 1, "slot": int(req.slot is not None), "pages": len(req.pages)}
                for name, amount in amounts.items():
                    if amount:
                        entry[name] = entry.get(name, 0) + amount
        return held

    def check_integrity(self) -> None:
        """Every page and every slot is in exactly one place, and all counts are right.

        Raises:
            IntegrityError: they are not; the message names which.
        """
        check_integrity(self)
