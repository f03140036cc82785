"""``serve --debug-endpoints`` with a gap on, looked at by ``top``: the residue of real requests shows."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import httpx

Start = Callable[..., Any]

SERVE = ("-m", "minisgl_tutor", "serve", "--port", "0", "--threads", "1")


def test_residue_of_a_gap_shows_and_a_running_request_is_seen_at_all_who_hold_it(
    start_server: Start, until: Callable[..., None]
) -> None:
    server = start_server(*SERVE, "--debug-endpoints", "--gap", "early-break").wait_ready()
    server.stream(max_tokens=2).rest()
    running = server.stream(max_tokens=2000)

    def held() -> dict[str, Any]:
        page = httpx.get(f"{server.url}/debug/held", trust_env=False, timeout=30)
        said: dict[str, Any] = page.json()
        return said

    def holders(uid: int) -> set[str]:
        requests = {request["uid"]: request["held"] for request in held()["requests"]}
        return {holding["component"] for holding in requests.get(uid, [])}

    everybody = {"minisgl-api-server", "minisgl-TP0-scheduler", "minisgl-detokenizer-0"}
    until(lambda: holders(1) == everybody, "all tell what they hold of it")
    until(lambda: held()["residue_requests"] == 1, "the residue of the first is found")
    running.leave()
    until(lambda: holders(1) == set(), "all have given it back")
    command = [sys.executable, "-m", "minisgl_tutor", "top", "--once", "--url", server.url]
    looked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert looked.returncode == 1, looked.stderr
    assert "RESIDUE ended" in looked.stdout and "ack_map 0, event_map 0" in looked.stdout
    server.signal(signal.SIGINT)
    assert server.wait_end() == 0


def test_without_the_option_nobody_is_told(start_server: Start) -> None:
    fake = __file__.replace("test_debug.py", "fake_server.py")
    server = start_server(fake, "0", "1").wait_ready()
    assert httpx.get(f"{server.url}/debug/held", trust_env=False).status_code == 404
    server.signal(signal.SIGINT)
    assert server.wait_end() == 0
