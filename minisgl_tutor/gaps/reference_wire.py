"""What the reference says on the wire: OpenAI's style without its contents (C5.43 to C5.46, C5.89 to C5.96).

Of a request only five values travel on; what else it asks for is accepted and
forgotten. Status and headers go out before anything is known of the answer, each
reply is a chunk, every answer ends by ``stop``, and the token counts are zeros.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

from ..message import ErrorReply, Reply, SamplingParams, TextLogprobs, Usage, UserReply
from ..server.frontend import FrontendManager
from ..server.openai.answer import Completed, ResponseForm
from ..server.openai.failure import error_body
from ..server.openai.request_model import Ask, CompletionBody
from ..server.openai.sse import DONE, event


class ReferenceForm(ResponseForm):
    """``form``, as the reference would have it for the answer to ``uid``."""

    def __init__(self, uid: int, form: ResponseForm) -> None:
        super().__init__(form.stamp, form.created, form.model, form.chat)
        self._id = f"cmpl-{uid}"

    def chunk(self, text: str, first: bool, logprobs: Sequence[TextLogprobs] = ()) -> dict[str, Any]:
        role = {"role": "assistant"} if first else {}
        return self._piece_of({**role, "content": text} if text else role, None)

    def ending(self, last: UserReply) -> list[dict[str, Any]]:
        return [self._piece_of({}, "stop")]

    def choice(self, answer: Completed) -> dict[str, Any]:
        message = {"role": "assistant", "content": answer.text}
        return {"index": 0, "message": message, "finish_reason": "stop"}

    def whole(self, choices: list[dict[str, Any]], usage: Usage) -> dict[str, Any]:
        counts = dict.fromkeys(("prompt_tokens", "completion_tokens", "total_tokens"), 0)
        return {
            "id": self._id,
            "object": "chat.completion",
            "created": self.created,
            "model": self.model,
            "choices": choices,
            "usage": counts,
        }

    def _piece_of(self, delta: dict[str, str], reason: str | None) -> dict[str, Any]:
        choice = {"delta": delta, "index": 0, "finish_reason": reason}
        return {"id": self._id, "object": "text_completion.chunk", "choices": [choice]}


class ReferenceWire(FrontendManager):
    def asks(self, body: CompletionBody) -> list[Ask]:
        messages, prompt = getattr(body, "messages", None), getattr(body, "prompt", None)
        assert messages or prompt is not None, "either 'messages' or 'prompt' must be provided"  # (C5.35)
        five = SamplingParams(
            ignore_eos=body.ignore_eos,
            max_tokens=body.max_tokens,
            temperature=body.temperature,
            top_k=body.top_k,
            top_p=body.top_p,
        )
        return [Ask(0, body.prompts()[0], five)]

    def form_for(self, uid: int, form: ResponseForm) -> ResponseForm:
        return ReferenceForm(uid, form)

    async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
        waker = self.event_map[uid]
        while True:
            await waker.wait()
            waker.clear()
            pending = self.ack_map[uid]
            self.ack_map[uid] = []
            for ack in pending:  # each by itself, however many wait
                yield ack
                if ack.finished:
                    return

    async def stream_chat_completions(self, uid: int, form: ResponseForm) -> AsyncGenerator[bytes, None]:
        yield b""  # nothing of the answer, but the response begins with it
        first = True
        async with aclosing(self.wait_for_ack(uid)) as replies:
            async for ack in replies:
                if isinstance(ack, ErrorReply):
                    yield event(error_body(ack))
                    return
                yield event(form.chunk(ack.incremental_output, first))
                first = False
                if ack.finished:
                    for body in form.ending(ack):
                        yield event(body)
                    yield DONE
                    return
