"""A server with real processes, links and HTTP, but workers that only talk. A program for the launch tests.

    python fake_server.py PORT TOKENIZERS [WORKER=FAULT ...] [LIMIT=SECONDS ...]

Its tokenizers answer by themselves: a prompt of digits gets so many words,
``flood`` one piece that no socket's buffer can hold and no end, any other
prompt words without end. Faults: ``fails``, ``breaks``, ``dies`` or
``hangs`` while starting, ``crashes`` at its first message, ``deaf`` to SIGTERM.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import fields, replace

from minisgl_tutor.links.zmq_queue import ZmqPullQueue, ZmqPushQueue
from minisgl_tutor.message import AbortMsg, TokenizeMsg, UserReply
from minisgl_tutor.server.config import Limits, ServerArgs
from minisgl_tutor.server.workers.addresses import Addresses
from minisgl_tutor.server.workers.children import Children
from minisgl_tutor.server.workers.errors import StartError
from minisgl_tutor.server.workers.worker import Ready

WORD_S = 0.01
FLOOD = "word " * 4_000_000


def start_up(fault: str, ready: Ready) -> None:
    if fault == "fails":
        raise StartError("the model is made of cheese; give another")
    if fault == "breaks":
        raise ValueError("a fake\nfault")
    if fault == "dies":
        os._exit(3)
    if fault == "hangs":
        time.sleep(3600)
    if fault == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ready()


def idle_worker(fault: str, ready: Ready) -> None:
    start_up(fault, ready)
    while True:
        time.sleep(3600)


def talking_worker(fault: str, address: str, frontend: str, ready: Ready) -> None:
    pull, push = ZmqPullQueue(address, "in"), ZmqPushQueue(frontend, "out")
    start_up(fault, ready)
    words_left: dict[int, int] = {}
    while True:
        for msg in pull.drain(blocking=not words_left):
            if fault == "crashes":
                raise ValueError("a fake fault")
            if isinstance(msg, TokenizeMsg) and msg.text == "flood":
                push.put(UserReply(msg.uid, FLOOD, False))
            elif isinstance(msg, TokenizeMsg):
                words_left[msg.uid] = int(msg.text) if str(msg.text).isdigit() else -1
            elif isinstance(msg, AbortMsg):
                words_left.pop(msg.uid, None)
        for uid in list(words_left):
            words_left[uid] -= 1
            finished = words_left[uid] == 0
            push.put(UserReply(uid, "word ", finished, "stop" if finished else None))
            if finished:
                del words_left[uid]
        time.sleep(WORD_S)


def main(port: int, num_tokenizer: int, faults: dict[str, str]) -> int:
    from minisgl_tutor.server.processes.api_process import run_api_server
    from minisgl_tutor.server.workers.logs import configure_logging

    def start_subprocess(children: Children, addresses: Addresses) -> None:
        for name in ("minisgl-TP0-scheduler", "minisgl-detokenizer-0"):
            children.start(name, idle_worker, faults.get(name, ""))
        for i, address in enumerate(addresses.tokenizers):
            name = f"minisgl-tokenizer-{i}"
            children.start(name, talking_worker, faults.get(name, ""), address, addresses.frontend)

    configure_logging("info")
    given = {field.name: float(faults[field.name]) for field in fields(Limits) if field.name in faults}
    limits = replace(Limits(shutdown_timeout=0), **given)
    try:
        return run_api_server(
            ServerArgs(port=port, num_tokenizer=num_tokenizer, limits=limits), start_subprocess
        )
    except StartError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), dict(fault.split("=") for fault in sys.argv[3:])))
