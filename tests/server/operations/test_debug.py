"""``/debug/held`` over a whole app in one process: nothing stays of a request, and with a gap it shows."""

from __future__ import annotations

import asyncio
import json
import os
from multiprocessing import Pipe

import msgspec

from minisgl_tutor.gaps.early_break import EarlyBreak
from minisgl_tutor.message import AbortMsg, UserReply
from minisgl_tutor.server.api_server import create_app
from minisgl_tutor.server.config import Limits
from minisgl_tutor.server.frontend import FrontendManager
from minisgl_tutor.server.operations.audit import Audit, Report
from minisgl_tutor.server.operations.debug import HELD_PATH, AuditedApp, HeldPage
from minisgl_tutor.server.operations.watch import Pulses
from minisgl_tutor.server.workers.pulse import Beat, framed
from minisgl_tutor.trace.asgi import AsgiClient, Exchange, Reader
from minisgl_tutor.trace.clock import run

BODY = json.dumps({"model": "m", "prompt": "go", "stream": True}).encode()


class Server:
    """An audited app over a front end, and one worker whose signs of life are made by hand."""

    def __init__(self, rig, cls: type[FrontendManager] = FrontendManager) -> None:
        clock = asyncio.get_running_loop().time
        self.rig = rig(cls)
        audit = Audit(clock)
        self.rig.inbox.observer = self.rig.outbox[0].observer = audit
        beats, self._pipe = Pipe(duplex=False)
        pulses = Pulses({"worker": beats}, Limits(), clock)
        app = create_app(self.rig.state, "m")
        audited = AuditedApp(app, audit)
        app.state.stamp = audited.stamp(app.state.stamp)
        app.add_route(HELD_PATH, HeldPage("m", audit, self.rig.state, pulses, clock).answer)
        self.client = AsgiClient(audited)

    def beat(self, *uids: int) -> None:
        taken = asyncio.get_running_loop().time()
        beat = Beat(requests={uid: {"pages": 2} for uid in uids}, taken=taken)
        os.write(self._pipe.fileno(), framed(beat))

    def ask(self, reader: Reader = Reader()) -> Exchange:  # noqa: B008
        headers = {"content-type": "application/json"}
        return self.client.request("POST", "/v1/completions", headers=headers, body=BODY, reader=reader)

    async def held(self) -> Report:
        exchange = self.client.request("GET", HELD_PATH)
        await exchange.wait_app()
        assert exchange.status == 200
        return msgspec.json.decode(exchange.body, type=Report)


async def answered(it: Server) -> Report:
    """What is held two seconds after a whole answer."""
    exchange = it.ask()
    await asyncio.sleep(0.1)
    (request,) = (await it.held()).requests
    assert (request.state, {holding.component for holding in request.held}) == (
        "waiting",
        {"minisgl-api-server"},
    )
    it.rig.feed(UserReply(0, "word", False), UserReply(0, "", True, "stop"))
    await exchange.wait_app()
    await asyncio.sleep(2)
    it.beat()
    return await it.held()


def test_nothing_is_held_after_an_answer_but_with_the_gap_there_is_residue(rig) -> None:
    async def main() -> None:
        assert (await answered(Server(rig))).requests == []
        (left,) = (await answered(Server(rig, EarlyBreak))).requests
        assert (left.uid, left.state, left.residue) == (0, "ended", True)
        assert {holding.what for holding in left.held} == {"ack_map", "event_map"}

    run(main)


def test_a_worker_that_keeps_something_of_a_client_that_left_is_named(rig) -> None:
    async def main() -> None:
        it = Server(rig)
        exchange = it.ask(Reader(leaves_at_us=500_000))
        await exchange.wait_app()
        assert AbortMsg(0) in it.rig.sent()
        it.beat(0)  # the abort is still on its way
        assert (await it.held()).residue_requests == 0
        await asyncio.sleep(2)
        it.beat(0)
        (left,) = (await it.held()).requests
        assert [(holding.component, holding.what) for holding in left.held] == [("worker", "pages")]
        assert left.residue and left.held[0].since_s == 2

    run(main)
