"""``serve --profile``: a trace that is whole when the server has ended, and its sum on the terminal."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from minisgl_tutor.profiling.chrome import read_spans

SERVE = ("-m", "minisgl_tutor", "serve", "--port", "0", "--threads", "1", "--max-seq-len", "256")


def test_a_profile_of_a_served_model(start_server: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    server = start_server(*SERVE, "--profile", str(path)).wait_ready()
    assert len(server.stream("A KV cache is", max_tokens=6).rest()) > 0
    server.signal(signal.SIGINT)
    assert server.wait_end() == 0
    spans = list(read_spans(path))
    assert {span.phase for span in spans} == {
        "idle",
        "receive",
        "schedule",
        "plan",
        "launch",
        "wait",
        "postprocess",
        "send",
    }
    # One step of prefill, then five of decode.
    assert {span.step for span in spans if span.phase == "launch"} == set(range(6))
    assert len(json.loads(path.read_text())) == len(spans) + 2
    assert "6 steps; " in server.log
    assert "postprocess" in server.log
    assert server.log.rstrip().endswith(f"{path}: open it at https://ui.perfetto.dev")
