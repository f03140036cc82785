"""The way to a server over HTTP, by aiohttp: at the speed of a GPU, httpx would be what is measured."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from types import TracebackType
from urllib.parse import urlsplit

import aiohttp

from ..language import Sentence
from .answer import RequestFailed, error_message

LOOPBACK = {"127.0.0.1", "localhost", "::1"}
CONNECT_TIMEOUT_S = 10.0
NO_CONNECTION = "no connection"


class HttpTransport:
    """Connections to one server, which are kept for later requests.

    Raises:
        ValueError: ``url`` is not the address of a server.
    """

    def __init__(self, url: str, api_key: str | None = None) -> None:
        self._base = base_url(url)
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
        if api_key is not None:
            headers["Authorization"] = f"Bearer {api_key}"
        # A proxy from the environment would be asked for its own loopback address.
        local = urlsplit(self._base).hostname in LOOPBACK
        self._session = aiohttp.ClientSession(
            headers=headers,
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S),
            trust_env=not local,
            auto_decompress=False,
        )

    async def __aenter__(self) -> HttpTransport:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def model(self) -> str:
        """The name of the first model that the server has.

        Raises:
            RequestFailed: it does not say.
        """
        try:
            async with self._session.get(f"{self._base}/v1/models") as answer:
                body = await answer.read()
                if answer.status != 200:
                    raise RequestFailed(f"HTTP {answer.status}", error_message(body))
                models = await answer.json(content_type=None)
                return str(models["data"][0]["id"])
        except (aiohttp.ClientError, OSError) as error:
            raise _failed(error) from None
        except (ValueError, LookupError, TypeError):
            raise RequestFailed(
                "not the OpenAI protocol", Sentence("it names no model at /v1/models")
            ) from None

    async def post(self, path: str, body: bytes) -> AsyncGenerator[bytes]:
        """As ``Transport.post``."""
        try:
            async with self._session.post(f"{self._base}{path}", data=body) as answer:
                if answer.status != 200:
                    raise RequestFailed(f"HTTP {answer.status}", error_message(await answer.read()))
                async for piece in answer.content.iter_any():
                    yield piece
        except (aiohttp.ClientError, OSError) as error:
            raise _failed(error) from None


def base_url(url: str) -> str:
    """``url`` without a trailing slash and without the ``/v1`` that some give with it.

    Raises:
        ValueError: it is not one of http or https with a host.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(Sentence("{url!r} is not an address such as http://127.0.0.1:1919", url=url))
    _ = parts.port  # raises if it is no port
    return url.rstrip("/").removesuffix("/v1").rstrip("/")


def _failed(error: Exception) -> RequestFailed:
    if isinstance(error, aiohttp.ClientConnectorError):
        return RequestFailed(NO_CONNECTION, _reason(error.os_error))
    if isinstance(error, aiohttp.ServerTimeoutError):
        return RequestFailed(NO_CONNECTION, Sentence("not within {seconds:g} s", seconds=CONNECT_TIMEOUT_S))
    if isinstance(error, aiohttp.ClientPayloadError | aiohttp.ServerDisconnectedError | OSError):
        return RequestFailed("disconnected", str(error))
    return RequestFailed("not HTTP", str(error))


def _reason(error: OSError) -> str:
    """The event loop puts addresses in the place of the system's words."""
    return os.strerror(error.errno) if error.errno else str(error)
