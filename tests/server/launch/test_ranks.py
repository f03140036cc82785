"""``serve --tp 2``: the whole server with two ranks, and with each rank launched by itself."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

pytest.importorskip("torch")

Start = Callable[..., Any]
Until = Callable[[Callable[[], object], str], None]

SERVE = ("-m", "minisgl_tutor", "serve", "--port", "0", "--threads", "1", "--dtype", "float32", "--tp", "2")
PROMPTS = [f"{n} times {n} is" for n in range(16)]


def text_of(events: list[str]) -> str:
    chunks = [json.loads(event.removeprefix("data: ")) for event in events if event.startswith("data: {")]
    return "".join(choice["text"] for chunk in chunks for choice in chunk["choices"])


def held(url: str) -> float:
    """What all components, both ranks among them, keep for requests."""
    page = httpx.get(f"{url}/metrics", trust_env=False).text
    lines = [line for line in page.splitlines() if "held_requests{" in line]
    assert any("TP1" in line for line in lines)
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines)


def expected_texts() -> list[str]:
    """Those of a single rank."""
    from minisgl_tutor.llm import LLM
    from minisgl_tutor.message import SamplingParams

    llm = LLM(dtype="float32", threads=1)
    params = SamplingParams(max_tokens=16, ignore_eos=True)
    return [answer.text for answer in llm.generate(PROMPTS, params)]


def test_sixteen_clients_of_whom_a_third_leave_and_the_death_of_a_rank(
    start_server: Start, until: Until
) -> None:
    server = start_server(*SERVE).wait_ready()
    for name in ("minisgl-TP0-scheduler", "minisgl-TP1-scheduler"):
        server.worker(name)

    def client(n: int) -> str | None:
        stays = n % 3 != 0
        stream = server.stream(PROMPTS[n], max_tokens=16 if stays else 1000)
        if not stays:
            return stream.leave()
        return text_of([stream.first, *stream.rest()])

    with ThreadPoolExecutor(len(PROMPTS)) as pool:
        texts = list(pool.map(client, range(len(PROMPTS))))
    expected = expected_texts()
    assert texts == [None if n % 3 == 0 else text for n, text in enumerate(expected)]
    until(lambda: held(server.url) == 0, "the end of what is held for those who left")

    streams = [server.stream(max_tokens=1500) for _ in range(3)]
    server.worker("minisgl-TP1-scheduler").kill()
    for stream in streams:
        error = json.loads(stream.rest()[-1].removeprefix("data: "))["error"]
        assert "minisgl-TP" in error["message"]
    assert server.wait_end() == 1


@pytest.fixture
def nodes(start_server: Start, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[Any]]:
    """Launches of both ranks, as on two machines."""

    def start() -> list[Any]:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        variables = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2"}
        loopback = next(name for _, name in socket.if_nameindex() if name.startswith("lo"))
        launched = []
        for rank in range(2):
            for name, value in {**variables, "RANK": str(rank), "GLOO_SOCKET_IFNAME": loopback}.items():
                monkeypatch.setitem(os.environ, name, value)
            launched.append(start_server(*SERVE))
        return launched

    return start


def test_each_rank_by_a_launch_of_its_own(nodes: Callable[[], list[Any]]) -> None:
    first, second = nodes()
    first.wait_ready()
    assert second.process.stdout.readline() == "minisgl-tutor: rank 1 of 2 is ready\n"
    assert first.ask(PROMPTS[3]).status_code == 200
    second.family(), first.family()
    # The end of rank 0 is that of the other launch, which nobody told.
    first.signal(signal.SIGTERM)
    assert first.wait_end() == 0
    assert second.wait_end() == 1
    assert "another rank is gone" in second.log


def test_a_world_of_another_size_is_one_sentence(
    start_server: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "WORLD_SIZE", "4")
    server = start_server(*SERVE)
    assert server.wait_end() == 1
    assert server.log.splitlines()[-1].startswith("Error: WORLD_SIZE is set but RANK is not")
