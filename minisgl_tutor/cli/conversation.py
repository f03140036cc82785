"""A conversation with a running server: what was said, and the stream of the next answer."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from types import TracebackType
from typing import Any

from ..language import Sentence
from .asking import AskError, check_answer, client_of, explained

SILENCE_TIMEOUT_S = 300.0


class Conversation:
    """The messages so far, and the server that answers them.

    ``finish_reason`` is that of the latest answer, ``None`` if it did not come to its end.
    """

    def __init__(
        self, url: str, system: str | None, max_tokens: int, temperature: float, api_key: str | None = None
    ) -> None:
        self._url = url.rstrip("/")
        self._opening = [] if system is None else [_message("system", system)]
        self._options = {"max_tokens": max_tokens, "temperature": temperature, "stream": True}
        self._said: list[dict[str, str]] = []
        with explained(self._url, SILENCE_TIMEOUT_S):
            self._client = client_of(self._url, api_key, SILENCE_TIMEOUT_S)
        self._model: str | None = None
        self.finish_reason: str | None = None

    def __enter__(self) -> Conversation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def model(self) -> str:
        """The name of the server's model.

        Raises:
            AskError: there is no server, or not one that speaks this protocol.
        """
        if self._model is None:
            with explained(self._url, SILENCE_TIMEOUT_S):
                answer = self._client.get(f"{self._url}/v1/models")
                check_answer(answer)
                self._model = str(answer.json()["data"][0]["id"])
        return self._model

    def ask(self, question: str) -> Generator[str]:
        """The pieces of the answer as they come. It is remembered up to where the caller stops.

        Raises:
            AskError: the answer did not come to its end; then it is not remembered, nor the question.
        """
        asked = _message("user", question)
        body = {"model": self.model(), "messages": [*self._opening, *self._said, asked], **self._options}
        pieces: list[str] = []
        self.finish_reason = None
        try:
            with (
                explained(self._url, SILENCE_TIMEOUT_S),
                self._client.stream("POST", f"{self._url}/v1/chat/completions", json=body) as answer,
            ):
                check_answer(answer)
                for choice in _choices(answer.iter_lines()):
                    self.finish_reason = choice.get("finish_reason")
                    if piece := choice["delta"].get("content"):
                        pieces.append(piece)
                        yield piece
            if self.finish_reason is None:
                raise AskError(Sentence("the answer broke off before its end"))
        except AskError:
            pieces.clear()
            raise
        finally:
            if pieces:
                self._said += [asked, _message("assistant", "".join(pieces))]

    def forget(self) -> None:
        """Starts anew."""
        self._said.clear()


def _message(role: str, content: str) -> dict[str, str]:
    # Bytes that are not UTF-8 come from a terminal as lone surrogates, which JSON cannot carry.
    return {"role": role, "content": content.encode(errors="replace").decode()}


def _choices(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    """The choices in a stream of events, up to the end mark."""
    for line in lines:
        if not line.startswith("data:"):
            continue
        data = line.removeprefix("data:").strip()
        if data == "[DONE]":
            return
        event = json.loads(data)
        if "error" in event:
            raise AskError(Sentence(str(event["error"]["message"])))
        yield from event["choices"]
