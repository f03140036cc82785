"""A conversation with a running server: what was said, and the stream of the next answer."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import httpx

from .program import program

LOOPBACK = {"127.0.0.1", "localhost", "::1"}
CONNECT_TIMEOUT_S = 5.0
SILENCE_TIMEOUT_S = 300.0


class ChatError(RuntimeError):
    """The server cannot be reached, or refuses. The message is one sentence for the user."""


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
        with _explained(self._url):
            self._client = _client(self._url, api_key)
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
            ChatError: there is no server, or not one that speaks this protocol.
        """
        if self._model is None:
            with _explained(self._url):
                answer = self._client.get(f"{self._url}/v1/models")
                _check(answer)
                self._model = str(answer.json()["data"][0]["id"])
        return self._model

    def ask(self, question: str) -> Generator[str]:
        """The pieces of the answer as they come. It is remembered up to where the caller stops.

        Raises:
            ChatError: the answer did not come to its end; then it is not remembered, nor the question.
        """
        asked = _message("user", question)
        body = {"model": self.model(), "messages": [*self._opening, *self._said, asked], **self._options}
        pieces: list[str] = []
        self.finish_reason = None
        try:
            with (
                _explained(self._url),
                self._client.stream("POST", f"{self._url}/v1/chat/completions", json=body) as answer,
            ):
                _check(answer)
                for choice in _choices(answer.iter_lines()):
                    self.finish_reason = choice.get("finish_reason")
                    if piece := choice["delta"].get("content"):
                        pieces.append(piece)
                        yield piece
            if self.finish_reason is None:
                raise ChatError("the answer broke off before its end")
        except ChatError:
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


def _client(url: str, api_key: str | None) -> httpx.Client:
    # A proxy from the environment would be asked for its own loopback address.
    local = httpx.URL(url).host in LOOPBACK
    return httpx.Client(
        headers={"Authorization": f"Bearer {api_key}"} if api_key else {},
        timeout=httpx.Timeout(SILENCE_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
        trust_env=not local,
    )


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
            raise ChatError(str(event["error"]["message"]))
        yield from event["choices"]


def _check(answer: httpx.Response) -> None:
    if answer.status_code >= 400:
        answer.read()
        raise ChatError(f"the server refuses: {answer.json()['error']['message']}")


@contextmanager
def _explained(url: str) -> Iterator[None]:
    try:
        yield
    except (httpx.ConnectError, httpx.ConnectTimeout):
        raise ChatError(
            f"no server answers at {url}; start one with `{program()} serve`, or give another --url"
        ) from None
    except (httpx.InvalidURL, httpx.UnsupportedProtocol):
        raise ChatError(f"{url!r} is not an address such as http://127.0.0.1:1919") from None
    except httpx.TimeoutException:
        raise ChatError(f"the server at {url} has been silent for {SILENCE_TIMEOUT_S:g} s") from None
    except httpx.HTTPError as error:
        raise ChatError(f"the connection to {url} broke off ({error})") from None
    except (ValueError, LookupError, TypeError, AttributeError):
        raise ChatError(f"what answers at {url} does not speak the OpenAI protocol") from None
