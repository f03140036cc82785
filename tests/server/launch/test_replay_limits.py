"""What the server itself turned away or ended is in the recording, and a replay does so too."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from minisgl_tutor.recording import CutLine, RefuseLine, StopLine, SubmitLine, read_recording
from minisgl_tutor.resources import model_dir
from minisgl_tutor.tokenizer.load import load_tokenizer
from minisgl_tutor.trace.play import play

from .test_replay import SERVE, by_request, exchange_number, recorded_messages

LIMITS = [
    *("--step-ms", "4", "--max-running-req", "6", "--max-prompt-chars", "300", "--max-body-bytes", "40000"),
    *("--first-token-timeout", "2", "--request-timeout", "3", "--shutdown-timeout", "0.1"),
]


def question(i: int, **more: Any) -> dict[str, Any]:
    return {
        "model": "minisgl-tutor",
        "prompt": f"What is a KV cache? ({i})",
        "max_tokens": 6 + i,
        "ignore_eos": True,
        **more,
    }


FOR_EVER = {"max_tokens": 900}

REQUESTS: dict[int, dict[str, Any]] = {
    0: question(0),
    1: question(1, prompt=f"{'long ' * 80}(1)"),
    2: question(2, prompt=f"{'larger ' * 8000}(2)"),
    3: question(3, prompt=["short", f"{'long ' * 80}(3)"]),
    4: question(4, stream=True),
    5: question(5, stream=True, **FOR_EVER),
    6: question(6, **FOR_EVER),
    7: question(7, stream=True, n=3, **FOR_EVER),
    8: question(8, **FOR_EVER),
    9: question(9, **FOR_EVER, stream=True),
    10: question(10, tools=[{"type": "function"}], temperature=9),
    11: question(11, max_tokens="many"),
    12: question(12),
}
"""By number. 5 to 8 run until their time is over; meanwhile 9 and 12 have no place."""


async def ask(client: httpx.AsyncClient, i: int, body: dict[str, Any]) -> tuple[int, bytes]:
    await asyncio.sleep(0.02 * i)  # one after the other, as the limit is on who runs at once
    answer = await client.post("/v1/completions", json=body)
    return answer.status_code, answer.content


async def clients(url: str, then: Callable[[], None]) -> dict[int, tuple[int, bytes]]:
    """All of ``REQUESTS``; then two that are open when ``then`` is called, at their first token or after."""
    async with httpx.AsyncClient(base_url=url, timeout=60) as client:
        got = await asyncio.gather(*[ask(client, i, body) for i, body in REQUESTS.items()])
        late = [ask(client, 0, question(i, stream=i == 21, **FOR_EVER)) for i in (20, 21)]
        ends = asyncio.gather(*late)
        async with client.stream("POST", "/v1/completions", json=question(22, stream=True)) as answer:
            async for _ in answer.aiter_raw():
                pass
        then()
        return dict(zip([*REQUESTS, 20, 21], [*got, *await ends], strict=True))


def test_what_the_server_turned_away_or_ended_is_so_in_a_replay(
    start_server: Callable[..., Any], tmp_path: Path
) -> None:
    file = tmp_path / "run.jsonl"
    server = start_server(*SERVE, "--record", str(file), *LIMITS).wait_ready()
    got = asyncio.run(clients(server.url, lambda: server.signal(signal.SIGINT)))
    assert server.wait_end() == 0
    recording = read_recording(file)
    cuts = [line for line in recording.lines if isinstance(line, CutLine)]
    (stop,) = [line for line in recording.lines if isinstance(line, StopLine)]
    assert {line.code for line in cuts} == {"first_token_timeout", "request_timeout"} and len(stop.uids) == 2
    refused = {line.rid: line.status for line in recording.lines if isinstance(line, RefuseLine)}
    assert sorted(refused.values())[:3] == [400] * 3  # and perhaps 413, if the whole of the body had come

    result = play(recording, load_tokenizer(model_dir()))

    for rid, exchange in result.exchanges.items():
        number = int(exchange_number(recording, rid))
        if number == 7:  # how the events of its choices mix is no matter of the recording
            assert exchange.status == got[number][0]
        elif number in got:
            assert (exchange.status, exchange.body) == got[number], number
    assert {rid: result.exchanges[rid].status for rid in refused} == refused
    submits = sorted((line.uid, line.rid) for line in recording.lines if isinstance(line, SubmitLine))
    uids = {rid: uid for uid, rid in reversed(submits)}
    assert {rid: uid for rid, uid in result.uids.items() if rid in uids} == uids
    played, recorded = by_request(result), recorded_messages(recording)
    for uid, receiver in played.keys() | recorded.keys():
        mine, theirs = played[uid, receiver], recorded[uid, receiver]
        if uid in stop.uids:  # the end of the processes may lie before the last of them
            mine, theirs = mine[: len(theirs)], theirs[: len(mine)]
        assert mine == theirs, (uid, receiver)
    assert not result.findings and not any(result.held.values())
