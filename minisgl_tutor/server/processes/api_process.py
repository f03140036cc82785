"""The parent process: runs the API server itself, watches the workers, ends everything together (C2.5).

A stop, by SIGINT or SIGHUP, and the death of a worker take the same way out: the
port closes, every open request gets an error, connections have ``grace``
seconds to take it, then the workers end. Before a SIGTERM takes that way, what runs has
``shutdown_timeout`` to end by itself, while nothing new is taken. A second signal
cuts all that short.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
import socket
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from math import ceil
from types import MappingProxyType

import uvicorn
from setproctitle import setproctitle
from starlette.types import ASGIApp

from ...language import ENGLISH, Sentence, Tongue
from ...links import Observers
from ...links.zmq_queue import ZmqAsyncPullQueue, ZmqAsyncPushQueue
from ...recording.endings import EndingLog
from ...recording.recorder import RecordFile, RecordingApp, RecordTarget, message_log
from ..api_server import create_app, fresh_stamp
from ..build import build_frontend
from ..config import API_KEY_VARIABLE, Limits, ServerArgs
from ..ended import tell_nobody
from ..frontend import FrontendManager
from ..limits.http_protocol import HTTP_PROTOCOL
from ..openai.bulk import BulkBodies
from ..operations.audit import Audit
from ..operations.debug import HELD_PATH, AuditedApp, HeldPage
from ..operations.ledger import Ledger
from ..operations.operations import Operations
from ..operations.watch import FRONTEND, Pulses
from ..workers.addresses import Addresses
from ..workers.children import Children, how_it_ended
from ..workers.memory import freeze_memory
from ..workers.pulse import by_request, in_sums
from ..workers.signals import StopSignals
from ..workers.worker import Worker
from .announce import gaps_line, progress, ready_line, record_line, top_line, usage
from .files import allow_files
from .port import bind_port, listen, url_of

PARENT_NAME = FRONTEND
STOPPING = "the server is stopping"

logger = logging.getLogger(__name__)

StartSubprocess = Callable[[Children, Addresses], None]


def run_api_server(
    server_args: ServerArgs,
    start_subprocess: StartSubprocess,
    run_shell: bool = False,
    record: RecordTarget | None = None,
    program: str = "minisgl-tutor",
    say: Tongue = ENGLISH,
) -> int:
    """Serves from this process, with the workers that ``start_subprocess`` starts (C2.16).

    The port is taken first and opened once every worker is ready (C2.18). With
    ``run_shell`` a chat runs in this terminal, and its end is the server's.

    Returns:
        The exit status; 128 and the signal's number if one came before the server was ready.

    Raises:
        StartError: the server cannot start. Nothing is left behind.
    """
    multiprocessing.current_process().name = PARENT_NAME
    setproctitle(PARENT_NAME)
    allow_files()
    with (
        StopSignals() as signals,
        bind_port(server_args.host, server_args.port) as sock,
        Children(server_args.log_level, by_request if server_args.debug_endpoints else in_sums) as children,
    ):
        addresses = Addresses.within(children.directory, server_args.num_tokenizer)
        start_subprocess(children, addresses)
        ledger = Ledger()
        audit = Audit() if server_args.debug_endpoints else None
        followed = [audit] if audit else []
        outgoing = Observers(ledger, *followed)
        incoming = Observers(ledger, *followed, message_log(record, "api"))
        state = build_frontend(
            server_args,
            [ZmqAsyncPushQueue(address, "tokenizer", outgoing) for address in addresses.tokenizers],
            ZmqAsyncPullQueue(addresses.frontend, "frontend", incoming),
            on_end=tell_nobody if record is None else EndingLog(RecordFile(record), ledger.replies).ended,
        )
        interrupt = _wait_ready(children, signals, say)
        if interrupt is not None:
            return 128 + interrupt
        url, model = url_of(sock), server_args.served_model
        pulses = Pulses(children.beats, server_args.limits)
        operations = _build(server_args, state, ledger, pulses, record, audit)
        lines, shell = [ready_line(url, model)], []
        if server_args.record is not None:
            lines.append(record_line(server_args.record))
        if server_args.gaps:
            lines.append(gaps_line(server_args.gaps, program))
        if server_args.debug_endpoints:
            lines.append(top_line(url, program))
        if not run_shell:
            lines.append(usage(url, model, program))
        else:
            shell = [sys.executable, "-m", "minisgl_tutor", "chat", "--url", url, "--lang", say.language]
        env = {} if server_args.api_key is None else {API_KEY_VARIABLE: server_args.api_key}
        return ApiProcess(operations, state, children, signals, "\n".join(map(say, lines)), shell, env).run(
            sock
        )


def _wait_ready(children: Children, signals: StopSignals, say: Tongue) -> signal.Signals | None:
    waiting = children.names
    with progress(Sentence("starting {names}", names=", ".join(waiting)), say) as update:

        def tell(name: str) -> None:
            waiting.remove(name)
            if waiting:
                rest = ", ".join(waiting)
                update(Sentence("{name} is ready; still starting: {names}", name=name, names=rest))
            else:
                update(Sentence("{name} is ready", name=name))

        return children.wait_ready(signals, tell)


def _build(
    args: ServerArgs,
    state: FrontendManager,
    ledger: Ledger,
    pulses: Pulses,
    record: RecordTarget | None,
    audit: Audit | None,
) -> Operations:
    examine = BulkBodies(args.limits.max_prompt_chars).examine
    app = create_app(state, args.served_model, limits=args.limits, examine=examine)
    core: ASGIApp = app
    if record is not None:
        core = recorded = RecordingApp(app, RecordFile(record))
        app.state.stamp = recorded.stamp(fresh_stamp)
    if audit is None:
        return Operations(args, state, app, core, ledger, pulses)
    audited = AuditedApp(core, audit)
    app.state.stamp = audited.stamp(app.state.stamp)
    page = HeldPage(args.served_model, audit, state, pulses)
    app.add_route(HELD_PATH, page.answer)
    operations = Operations(args, state, app, audited, ledger, pulses)
    operations.also_watched.append(page.watch)
    return operations


class ApiProcess:
    """One serving of the API, from the workers' readiness to its end.

    ``greeting`` is printed once clients are served. ``shell``, if given, is a
    command that then runs in this terminal, with ``shell_env`` in its environment;
    its end is the server's, and Ctrl+C is meant for it alone.
    """

    def __init__(
        self,
        operations: Operations,
        state: FrontendManager,
        children: Children,
        signals: StopSignals,
        greeting: str,
        shell: Sequence[str] = (),
        shell_env: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._state = state
        self._children = children
        self._signals = signals
        self._greeting = greeting
        self._shell = shell
        self._shell_env = shell_env
        self._status = 0
        self._operations = operations
        self._http = _Uvicorn(operations.asgi, operations.limits)
        self._draining: asyncio.Task[None] | None = None
        operations.connections = lambda: self._http.server_state.connections

    def run(self, sock: socket.socket) -> int:
        """Serves, as :meth:`serve` says, on the fastest event loop that is installed."""
        freeze_memory()
        with asyncio.Runner(loop_factory=self._http.config.get_loop_factory()) as runner:
            return runner.run(self.serve(sock))

    async def serve(self, sock: socket.socket) -> int:
        """Serves on a bound socket.

        Returns:
            The exit status: 0 after a signal or the shell's end, 1 after the death
            of a worker, 128 and its number after a second signal.

        Raises:
            StartError: the port was taken meanwhile.
        """
        listen(sock)
        loop = asyncio.get_running_loop()
        serving = asyncio.create_task(self._http.serve(sockets=[sock]), name="http")
        loop.add_reader(self._signals.fileno(), self._on_signal, serving)
        for sentinel, worker in self._children.sentinels.items():
            loop.add_reader(sentinel, self._on_death, sentinel, worker, serving)
        others = [
            asyncio.create_task(self._greet(), name="greeting"),
            asyncio.create_task(self._operations.watch(), name="watch"),
        ]
        with suppress(asyncio.CancelledError):
            await serving
        for task in [*others, self._draining]:
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        await self._state.close()
        return self._status

    def _on_signal(self, serving: asyncio.Task[None]) -> None:
        for number in self._signals.take():
            if self._shell and number == signal.SIGINT:
                continue
            if self._draining or self._http.should_exit:
                self._status = 128 + number
                self._http.should_exit = True  # the workers' end is no death any more
                self._children.kill()
                serving.cancel()
            elif number == signal.SIGTERM:
                self._draining = asyncio.create_task(self._drain(), name="drain")
            else:
                self._stop(STOPPING)

    async def _drain(self) -> None:
        """Lets what runs come to its end, for a while, and then stops."""
        admission, limit_s = self._operations.admission, self._operations.limits.shutdown_timeout
        admission.close(STOPPING)
        logger.info("stopping; requests that may end within %g s: %d", limit_s, admission.inside)
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await admission.empty()
        self._stop(STOPPING)

    def _on_death(self, sentinel: int, worker: Worker, serving: asyncio.Task[None]) -> None:
        asyncio.get_running_loop().remove_reader(sentinel)
        self._on_signal(serving)  # one that went to all processes ended this one too
        if self._http.should_exit:
            return
        ending = f"{worker.name} {how_it_ended(worker)}"
        if self._draining and worker.exitcode == -signal.SIGTERM:
            self._stop(STOPPING)  # a signal to all processes: nothing can come to its end
            return
        logger.critical("%s; the server ends", ending)
        self._status = 1
        self._stop(f"a part of the server is gone: {ending}")

    async def _greet(self) -> None:
        await self._http.opened.wait()
        print(self._greeting, flush=True)
        if self._shell:
            await self._run_shell()
            self._stop(STOPPING)

    async def _run_shell(self) -> None:
        process = await asyncio.create_subprocess_exec(*self._shell, env={**os.environ, **self._shell_env})
        try:
            await process.wait()
        finally:
            if process.returncode is None:
                process.terminate()
                await process.wait()

    def _stop(self, reason: str) -> None:
        self._http.close_port()
        if self._state.unanswered:
            logger.warning("%s; requests cut short: %d", reason, len(self._state.unanswered))
        self._state.fail_all(reason)
        self._http.should_exit = True


class _Uvicorn(uvicorn.Server):
    """uvicorn without its own handling of signals. ``opened`` is set once clients are served."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        config = uvicorn.Config(
            app,
            http=HTTP_PROTOCOL,
            log_config=None,
            access_log=False,
            ws="none",
            timeout_keep_alive=ceil(limits.idle_timeout),
            timeout_graceful_shutdown=ceil(limits.grace),
        )
        super().__init__(config)
        self.opened = asyncio.Event()
        self.servers = []

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.opened.set()

    def close_port(self) -> None:
        for server in self.servers:
            server.close()
