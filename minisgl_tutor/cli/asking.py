"""How a command asks a running server over HTTP, and what it says if that does not work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from ..language import Sentence
from ..server.config import API_KEY_VARIABLE
from .program import program

LOOPBACK = {"127.0.0.1", "localhost", "::1"}
CONNECT_TIMEOUT_S = 5.0


class AskError(RuntimeError):
    """The server cannot be reached, or refuses. Made with a ``Sentence`` for the user."""


def client_of(url: str, api_key: str | None, silence_s: float) -> httpx.Client:
    """A client that waits no longer than ``silence_s`` for the next byte."""
    # A proxy from the environment would be asked for its own loopback address.
    local = httpx.URL(url).host in LOOPBACK
    return httpx.Client(
        headers={"Authorization": f"Bearer {api_key}"} if api_key else {},
        timeout=httpx.Timeout(silence_s, connect=CONNECT_TIMEOUT_S),
        trust_env=not local,
    )


def check_answer(answer: httpx.Response) -> None:
    """
    Raises:
        AskError: the server refuses.
    """
    if answer.status_code == 401:
        raise AskError(
            Sentence(
                "the server wants its key: give --api-key, or better put it into {variable}",
                variable=API_KEY_VARIABLE,
            )
        )
    if answer.status_code >= 400:
        answer.read()
        raise AskError(Sentence("the server refuses: {message}", message=answer.json()["error"]["message"]))


@contextmanager
def explained(url: str, silence_s: float) -> Iterator[None]:
    """Makes every way in which asking can fail an ``AskError``."""
    try:
        yield
    except (httpx.ConnectError, httpx.ConnectTimeout):
        raise AskError(
            Sentence(
                "no server answers at {url}; start one with `{program} serve`, or give another --url",
                url=url,
                program=program(),
            )
        ) from None
    except (httpx.InvalidURL, httpx.UnsupportedProtocol):
        raise AskError(Sentence("{url!r} is not an address such as http://127.0.0.1:1919", url=url)) from None
    except httpx.TimeoutException:
        raise AskError(
            Sentence("the server at {url} has been silent for {seconds:g} s", url=url, seconds=silence_s)
        ) from None
    except httpx.HTTPError as error:
        raise AskError(
            Sentence("the connection to {url} broke off ({reason})", url=url, reason=str(error))
        ) from None
    except (ValueError, LookupError, TypeError, AttributeError):
        raise AskError(
            Sentence("what answers at {url} does not speak the OpenAI protocol", url=url)
        ) from None
