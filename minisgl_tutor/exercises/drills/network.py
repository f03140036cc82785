"""What a server uses of a network, in memory: connections with asyncio's own streams at the server's end."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

Connected = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any]
"""As in :func:`asyncio.start_server`, called for each connection; what it returns is awaited if it can be."""


class Line:
    """A connection, as its client sees it: ``data``, ``over`` and ``failure`` are what came of it so far.

    ``failure`` is what the server's callback raised. ``news`` is called when something has come.
    """

    def __init__(self, connected: Connected, news: Callable[[], None]) -> None:
        self.data = b""
        self.over = False
        self.failure: BaseException | None = None
        self._news = news
        self._loop = asyncio.get_running_loop()
        self._reader = asyncio.StreamReader(loop=self._loop)
        protocol = asyncio.StreamReaderProtocol(self._reader, loop=self._loop)
        self._end = ServerEnd(self, protocol)
        protocol.connection_made(self._end)
        self._writer = asyncio.StreamWriter(self._end, protocol, self._reader, self._loop)
        self._task = self._loop.create_task(self._serve(connected), name="connection")

    @property
    def closed(self) -> bool:
        """Whether the server has closed its end."""
        return self._end.is_closing()

    def send(self, data: bytes) -> None:
        """The client sends; the server can read it at once."""
        if not self._reader.at_eof():
            self._reader.feed_data(data)

    def hang_up(self) -> None:
        """The client closes its end; what the server writes from now on goes nowhere."""
        if not self.over:
            self.over = True
            self._reader.feed_eof()

    def cut(self) -> None:
        """The server's process is gone."""
        self._task.cancel()
        self._end.close()

    def came(self, data: bytes) -> None:
        if not self.over:
            self.data += data
            self._news()

    def ended(self) -> None:
        self.over = True
        self._news()

    async def _serve(self, connected: Connected) -> None:
        try:
            served = connected(self._reader, self._writer)
            if inspect.isawaitable(served):
                await served
        except Exception as error:  # asyncio logs what a callback raises, and closes its connection
            self.failure = error
            self._end.close()


class ServerEnd(asyncio.Transport):
    """The server's end of a connection. What is written has arrived."""

    def __init__(self, line: Line, protocol: asyncio.Protocol) -> None:
        super().__init__()
        self._line = line
        self._protocol = protocol
        self._closing = False
        self._no_more = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not (self._closing or self._no_more):
            self._line.came(bytes(data))

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self._no_more = True
        self._line.ended()

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            self._line.ended()
            asyncio.get_running_loop().call_soon(self._protocol.connection_lost, None)

    def abort(self) -> None:
        self.close()


class Server(asyncio.AbstractServer):
    """As asyncio's, which waits in ``serve_forever`` and is closed at the end of ``async with``."""

    sockets = ()

    def __init__(self, connected: Connected, serving: bool) -> None:
        self.connected = connected
        self._loop = asyncio.get_running_loop()
        self._serving = serving
        self._closed = asyncio.Event()

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return self._loop

    def is_serving(self) -> bool:
        return self._serving

    async def start_serving(self) -> None:
        self._serving = not self._closed.is_set()

    async def serve_forever(self) -> None:
        await self.start_serving()
        await self._closed.wait()
        raise asyncio.CancelledError

    def close(self) -> None:
        self._serving = False
        self._closed.set()

    async def wait_closed(self) -> None:
        await self._closed.wait()


class Network:
    """Stands in for ``asyncio`` where a server listens. ``lines`` are the connections that were made."""

    def __init__(self) -> None:
        self.servers: list[Server] = []
        self.lines: list[Line] = []

    async def start_server(
        self,
        client_connected_cb: Connected,
        host: object = None,
        port: object = None,
        *,
        start_serving: bool = True,
        **options: object,
    ) -> Server:
        """As :func:`asyncio.start_server`; where it listens, every client gets through to it."""
        server = Server(client_connected_cb, start_serving)
        self.servers.append(server)
        return server

    def connect(self, news: Callable[[], None]) -> Line | None:
        """A client's new connection, or null: it is refused."""
        serving = [server for server in self.servers if server.is_serving()]
        if not serving:
            return None
        line = Line(serving[-1].connected, news)
        self.lines.append(line)
        return line

    def down(self) -> None:
        """The server's process is gone, and its connections with it."""
        for server in self.servers:
            server.close()
        for line in self.lines:
            line.cut()
