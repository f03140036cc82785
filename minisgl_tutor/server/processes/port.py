"""The HTTP port: taken before anything is loaded, open once the server is ready."""

from __future__ import annotations

import errno
import logging
import os
import socket
from contextlib import suppress
from typing import Any

from ...language import Sentence, reason_of
from ..workers.errors import StartError

BACKLOG = 2048

logger = logging.getLogger(__name__)


class Port(socket.socket):
    """A listening socket that turns a client away when no file is left for it.

    asyncio would let it wait, and try again so often that nobody else is served.
    A spare file, given up for a moment, is enough to take the client and close it.
    """

    def __init__(self, family: int, kind: int, protocol: int) -> None:
        super().__init__(family, kind, protocol)
        self._spare: int | None = _some_file()
        self._said = False

    def accept(self) -> tuple[socket.socket, Any]:
        try:
            return super().accept()
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                raise
            self._say(error)
            self._turn_away()
            raise BlockingIOError(errno.EAGAIN, "a client was turned away") from error

    def close(self) -> None:
        self._give_up_spare()
        super().close()

    def _turn_away(self) -> None:
        self._give_up_spare()
        with suppress(OSError):
            super().accept()[0].close()
        with suppress(OSError):
            self._spare = _some_file()

    def _give_up_spare(self) -> None:
        if self._spare is not None:
            os.close(self._spare)
            self._spare = None

    def _say(self, error: OSError) -> None:
        if not self._said:
            self._said = True
            logger.error("%s: clients are turned away; `ulimit -n` allows more", error.strerror)


def bind_port(host: str, port: int) -> socket.socket:
    """A socket bound to the address that does not listen yet: clients are refused. Port 0 takes any free one.

    Raises:
        StartError: the port is taken, not allowed, or the host is not one of this machine.
    """
    try:
        info = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError):
        raise StartError(
            Sentence("the host {host!r} is unknown; give an address of this machine with --host", host=host)
        ) from None
    family, kind, protocol, _, address = info[0]
    sock = Port(family, kind, protocol)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind(address)
    except OSError as error:
        sock.close()
        raise StartError(_explained(error, host, port)) from None
    return sock


def listen(sock: socket.socket) -> None:
    """Opens a bound port.

    Raises:
        StartError: another process that was bound as well was faster.
    """
    try:
        sock.listen(BACKLOG)
    except OSError as error:
        host, port = sock.getsockname()[:2]
        raise StartError(_explained(error, host, port)) from None


def url_of(sock: socket.socket) -> str:
    """Where a client on this machine reaches the socket."""
    host, port = sock.getsockname()[:2]
    reachable = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{reachable}]:{port}" if ":" in reachable else f"http://{reachable}:{port}"


def _some_file() -> int:
    return os.open(os.devnull, os.O_RDONLY)


def _explained(error: OSError, host: str, port: int) -> Sentence:
    if error.errno == errno.EADDRINUSE:
        return Sentence(
            "port {port} on {host} is taken by another process, perhaps another server of this kind; "
            "stop that one, or choose another port with --port {other}",
            port=port,
            host=host,
            other=port + 1 if port < 65535 else port - 1,
        )
    if error.errno == errno.EACCES:
        return Sentence("this user may not open port {port}; choose one above 1023 with --port", port=port)
    if error.errno == errno.EADDRNOTAVAIL:
        return Sentence("{host} is not an address of this machine; give another with --host", host=host)
    return Sentence(
        "port {port} on {host} cannot be opened: {reason}", port=port, host=host, reason=reason_of(error)
    )
