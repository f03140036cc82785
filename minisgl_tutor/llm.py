"""Offline use: prompts in, texts out, in this process. The scheduler and engine are those of the server."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .engine.base import Engine, EngineError, EngineInfo
from .message import (
    AbortBackendMsg,
    DetokenizeMsg,
    ErrorReply,
    FinishReason,
    SamplingParams,
    StopStringsMsg,
    TokenLogprobs,
    Usage,
    UserMsg,
    UserReply,
)
from .server.config import ServerArgs
from .server.processes.offline import Offline, SchedulerHere, SchedulerProcesses
from .tokenizer.detokenize import DetokenizeManager
from .tokenizer.load import Tokenizer

Prompt = str | Sequence[int]
Progress = Callable[[int], None]
"""Called with the number of tokens that are new."""


class RequestRefused(ValueError):
    """The scheduler refused a prompt; the message says why, and which it was."""


@dataclass(slots=True)
class Generation:
    """The answer to one prompt. ``token_ids`` has what ended it, which ``text`` has not.

    That is an end-of-sequence token, or those that a stop string was complete with.
    ``logprobs`` has one entry for each of ``token_ids`` if the sampling parameters asked for them.
    """

    text: str = ""
    token_ids: list[int] = field(default_factory=list)
    logprobs: list[TokenLogprobs] = field(default_factory=list)
    finish_reason: FinishReason | None = None
    usage: Usage = field(default_factory=Usage)


class LLM:
    """A model that answers many prompts at once.

    ``model`` and the options are those of ``ServerArgs``: ``LLM("Qwen/Qwen3-0.6B",
    device="cuda", max_running_req=256)``. With ``tp`` above 1 each rank of the model is a process,
    and the program has to be guarded by ``if __name__ == "__main__":``. ``close`` ends them; so does
    the end of the program.

    Raises:
        ModelError: it cannot be had, or cannot run as asked.
    """

    def __init__(self, model: str | None = None, **options: Any) -> None:
        from .engine.build import build_engine
        from .models.resolve import resolve_model
        from .tokenizer.load import load_eos_token_ids, load_tokenizer

        args = ServerArgs(model=model, **options)
        model_dir = resolve_model(model, args.dtype, args.model_source)
        tokenizer = load_tokenizer(model_dir)
        if args.tp > 1:
            self._set_up(SchedulerProcesses(args, model_dir), tokenizer)
            return
        engine = build_engine(replace(args, model=str(model_dir)))
        here = SchedulerHere(args, engine, load_eos_token_ids(model_dir, tokenizer))
        self._set_up(here, tokenizer)

    @classmethod
    def of_engine(
        cls,
        engine: Engine,
        tokenizer: Tokenizer,
        eos_token_ids: frozenset[int],
        args: ServerArgs | None = None,
    ) -> LLM:
        """The same around an engine that is there already."""
        llm = cls.__new__(cls)
        llm._set_up(SchedulerHere(args or ServerArgs(), engine, eos_token_ids), tokenizer)
        return llm

    def _set_up(self, offline: Offline, tokenizer: Tokenizer) -> None:
        self.offline = offline
        self.tokenizer = tokenizer
        self._texts = DetokenizeManager(tokenizer)
        """Of the requests with stop strings, whose text has to be known token by token."""
        self._next_uid = 0
        # What is there now stays, so the collector need not look at it again: that takes a fifth of a second.
        gc.collect()
        gc.freeze()

    @property
    def info(self) -> EngineInfo:
        """The sizes of the engine, or of each rank's."""
        return self.offline.info

    def close(self) -> None:
        """Ends what runs for it; nothing can be generated any more."""
        self.offline.close()

    def generate(
        self,
        prompts: Sequence[Prompt],
        sampling_params: SamplingParams | Sequence[SamplingParams] | None = None,
        progress: Progress | None = None,
    ) -> list[Generation]:
        """One answer a prompt, in their order. A prompt is a text or its token ids.

        ``sampling_params`` are for all, or one for each.

        Raises:
            ValueError: there are not as many of them as prompts.
            RequestRefused: a prompt or its sampling parameters cannot be served.
            EngineError: the engine cannot go on.
        """
        params = self._params_of(prompts, sampling_params)
        first = self._next_uid
        self._next_uid += len(prompts)
        answers: dict[int, Generation] = {}
        try:
            for uid, (prompt, wanted) in enumerate(zip(prompts, params, strict=True), first):
                ids = self.tokenizer.encode(prompt) if isinstance(prompt, str) else list(prompt)
                answers[uid] = Generation()
                self.offline.put(UserMsg(uid, ids, wanted))
            refused = self._run(answers, progress)
        except EngineError:
            raise  # there is nobody left to tell
        except BaseException:
            self._give_up(answers)
            raise
        if refused is not None:
            raise RequestRefused(f"Prompt {refused.uid - first}: {refused.message}")
        return list(answers.values())

    def _run(self, answers: Mapping[int, Generation], progress: Progress | None) -> ErrorReply | None:
        """Fills in the answers, by uid, until nothing is left to do; the first refusal, if there was one.

        Messages about other uids belong to an earlier call that was given up.
        """
        refused: ErrorReply | None = None
        while self.offline.busy:
            new = 0
            for msg in self.offline.advance():
                if isinstance(msg, ErrorReply):
                    refused = refused or (msg if msg.uid in answers else None)
                elif isinstance(msg, StopStringsMsg):
                    self._texts.detokenize([msg])
                elif isinstance(msg, DetokenizeMsg) and msg.uid in answers:
                    new += 1
                    self._take_in(answers[msg.uid], msg)
                elif isinstance(msg, DetokenizeMsg) and msg.uid in self._texts.decode_map:
                    self._texts.detokenize([msg])
            if progress is not None:
                progress(new)
        return refused

    def _give_up(self, answers: Mapping[int, Generation]) -> None:
        """Nobody waits for these answers any more: whatever is unfinished is aborted."""
        for uid, answer in answers.items():
            if answer.finish_reason is None:
                self.offline.put(AbortBackendMsg(uid))

    def _params_of(
        self, prompts: Sequence[Prompt], sampling_params: SamplingParams | Sequence[SamplingParams] | None
    ) -> Sequence[SamplingParams]:
        if sampling_params is None:
            sampling_params = SamplingParams()
        if isinstance(sampling_params, SamplingParams):
            return [sampling_params] * len(prompts)
        if len(sampling_params) != len(prompts):
            raise ValueError(
                f"There are {len(prompts)} prompts but {len(sampling_params)} sampling parameters."
            )
        return sampling_params

    def _take_in(self, answer: Generation, msg: DetokenizeMsg) -> None:
        if answer.finish_reason is not None:
            self._texts.detokenize([msg])  # it comes behind a stop string
            return
        if msg.next_token is not None:
            answer.token_ids.append(msg.next_token)
        if msg.logprobs is not None:
            answer.logprobs.append(msg.logprobs)
        if msg.uid in self._texts.decode_map:
            self._look_for_stop(answer, msg)
        elif msg.finished:
            answer.finish_reason = msg.finish_reason
            answer.usage = msg.usage or Usage()
            # Here and not at the end: the device computes meanwhile.
            text_ids = answer.token_ids[:-1] if msg.finish_reason == "stop" else answer.token_ids
            answer.text = self.tokenizer.decode(text_ids)

    def _look_for_stop(self, answer: Generation, msg: DetokenizeMsg) -> None:
        for reply in self._texts.detokenize([msg]):
            if isinstance(reply, UserReply):
                answer.text += reply.incremental_output
                answer.finish_reason, answer.usage = reply.finish_reason, reply.usage or Usage()
        if self._texts.awaits_finish(msg.uid):
            self.offline.put(AbortBackendMsg(msg.uid))
