"""How many may be inside, and what the others are told."""

from __future__ import annotations

import asyncio
import json
from collections import Counter

from starlette.types import Receive, Scope, Send

from minisgl_tutor.server.api_server import create_app
from minisgl_tutor.server.limits.admission import AT_ONCE, Admission
from minisgl_tutor.trace.asgi import AsgiClient, Reader
from minisgl_tutor.trace.clock import run


async def takes_ten_seconds(scope: Scope, receive: Receive, send: Send) -> None:
    await asyncio.sleep(10)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"x", "more_body": False})


def test_both_sides_of_the_bound(rig) -> None:
    async def main() -> None:
        admission = Admission(takes_ten_seconds, rig().state, 3)
        client = AsgiClient(admission)
        first = [client.request("POST", "/") for _ in range(4)]
        await asyncio.sleep(1)
        assert first[3].status == 429 and first[3].headers["retry-after"] == "1"
        assert json.loads(first[3].body)["error"]["code"] == "too_many_requests"
        assert client.request("GET", "/").status is None  # a look is always let in
        await asyncio.sleep(10)
        assert [each.status for each in first] == [200, 200, 200, 429]
        assert admission.inside == 0 and admission.refused == {"too_many": 1}
        again = client.request("POST", "/")
        await asyncio.sleep(11)
        assert again.status == 200

    run(main)


def test_the_answers_that_one_request_asks_for_count_as_well(rig) -> None:
    async def main() -> None:
        state = rig().state
        client = AsgiClient(Admission(takes_ten_seconds, state, 3))
        for _ in range(3):
            state.new_user()
        refused = client.request("POST", "/")
        await asyncio.sleep(1)
        assert refused.status == 429

    run(main)


def test_an_app_that_fails_or_whose_client_left_makes_room_again(rig) -> None:
    async def main() -> None:
        async def fails(scope: Scope, receive: Receive, send: Send) -> None:
            await receive()
            await receive()
            raise RuntimeError

        admission = Admission(fails, rig().state, 1)
        AsgiClient(admission).request("POST", "/", reader=Reader(leaves_at_us=1000))
        await asyncio.sleep(1)
        assert admission.inside == 0

    run(main)


def test_a_server_that_is_to_stop_takes_nothing_and_tells_when_it_is_empty(rig) -> None:
    async def main() -> None:
        admission = Admission(takes_ten_seconds, rig().state, 3)
        client = AsgiClient(admission)
        await admission.empty()
        running = client.request("POST", "/")
        await asyncio.sleep(1)
        admission.close("the server is stopping")
        refused = client.request("POST", "/")
        await asyncio.sleep(1)
        assert refused.status == 503 and refused.headers["connection"] == "close"
        assert json.loads(refused.body)["error"]["message"] == "the server is stopping"
        await admission.empty()
        assert running.status == 200
        assert asyncio.get_running_loop().time() == 10
        assert admission.refused == {"stopping": 1}

    run(main)


def test_of_many_that_come_together_a_bounded_number_is_let_through_in_a_turn_of_the_loop(rig) -> None:
    async def main() -> None:
        turn, turns = 0, []

        async def notes_its_turn(scope: Scope, receive: Receive, send: Send) -> None:
            turns.append(turn)

        client = AsgiClient(Admission(notes_its_turn, rig().state, 1000))
        for _ in range(3 * AT_ONCE):
            client.request("POST", "/")
        while len(turns) < 3 * AT_ONCE:
            await asyncio.sleep(0)
            turn += 1
        assert max(Counter(turns).values()) <= AT_ONCE

    run(main)


def test_a_burst_of_requests_for_many_answers_goes_beyond_the_bound_by_those_of_one(rig) -> None:
    async def main() -> None:
        it, limit, answers = rig(), 300, 100
        app = create_app(it.state, "m")
        admission = Admission(app, it.state, limit)
        app.state.admit = admission.admit
        client = AsgiClient(admission)
        body = json.dumps({"model": "m", "prompt": "x", "n": answers}).encode()
        kind = {"content-type": "application/json"}
        burst = [client.request("POST", "/v1/completions", headers=kind, body=body) for _ in range(limit)]
        await asyncio.sleep(1)
        assert len(it.state.unanswered) == limit
        turned_away = [each for each in burst if each.status == 429]
        assert len(turned_away) == admission.refused["too_many"] == limit - limit // answers
        assert {each.headers["retry-after"] for each in turned_away} == {"1"}

    run(main)
