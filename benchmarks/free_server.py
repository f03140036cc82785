"""The server with an engine that costs nothing: what is left is the control plane, in its real processes.

Run as a script it serves until it is stopped: ``free_server.py PORT STEP_MS [--record FILE]``, where each
step of the engine takes so many milliseconds at least, 0 for none, and the run may be recorded.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import numpy as np

from minisgl_tutor.engine.base import Engine, EngineInfo, ForwardBatch
from minisgl_tutor.engine.slow import SlowEngine
from minisgl_tutor.links import LinkObserver, NoObserver
from minisgl_tutor.links.zmq_queue import ZmqPullQueue, ZmqPushQueue
from minisgl_tutor.models.resolve import resolve_model
from minisgl_tutor.recording.recorder import (
    RecordFile,
    RecordingEngine,
    RecordingObserver,
    RecordTarget,
    message_log,
)
from minisgl_tutor.server.build import build_scheduler, build_tokenize_worker
from minisgl_tutor.server.config import ServerArgs
from minisgl_tutor.server.processes.api_process import run_api_server
from minisgl_tutor.server.processes.scheduler_process import recorded_header
from minisgl_tutor.server.workers.addresses import Addresses
from minisgl_tutor.server.workers.children import Children
from minisgl_tutor.server.workers.logs import configure_logging
from minisgl_tutor.server.workers.worker import Ready
from minisgl_tutor.tokenizer.load import load_tokenizer
from minisgl_tutor.tokenizer.server import tokenize_worker

INFO = EngineInfo(page_size=16, num_pages=16_384, num_slots=256, max_seq_len=4096, vocab_size=1 << 20)
TEXT = (
    "The KV cache keeps the keys and values of all tokens so far, so a decode step computes one token only. "
    "分页的 KV Cache 把显存分成固定大小的页，请求结束后页可以立刻重用。 "
    "Continuous batching lets new requests join between two steps, and finished ones leave at once. 🙂 "
)


class FreeOutput:
    """A step that has run already. Nobody asks it for logprobs."""

    def __init__(self, tokens: list[int]) -> None:
        self._tokens = tokens

    def next_tokens(self) -> list[int]:
        return self._tokens


class FreeEngine:
    """Gives every row the tokens of one text, over and over: which of them, by the length of the row."""

    def __init__(self, info: EngineInfo, text: list[int]) -> None:
        self.info = info
        self._text = np.array(text)

    def forward_batch(self, batch: ForwardBatch) -> FreeOutput:
        tokens = self._text[batch.seq_lens % len(self._text)]
        return FreeOutput(np.where(batch.emits, tokens, -1).tolist())

    def close(self) -> None:
        pass


def run_scheduler(
    args: ServerArgs, model: str, addresses: Addresses, record: RecordTarget | None, ready: Ready
) -> None:
    """The scheduler's process."""
    engine: Engine = FreeEngine(INFO, load_tokenizer(model).encode(TEXT, add_special_tokens=False))
    if args.step_ms:
        engine = SlowEngine(engine, args.step_ms)
    observer: LinkObserver = NoObserver()
    if record is not None:
        file = RecordFile(record)
        file.write(recorded_header(args, engine.info, frozenset()))
        engine = RecordingEngine(engine, file, frozenset())
        observer = RecordingObserver(file, observer)
    scheduler = build_scheduler(
        args,
        engine,
        frozenset(),
        ZmqPullQueue(addresses.scheduler, "scheduler", observer),
        ZmqPushQueue(addresses.detokenizer, "detokenizer"),
    )
    ready()
    scheduler.run_forever()


def main(port: int, step_ms: int, record: str | None) -> int:
    args = ServerArgs(port=port, step_ms=step_ms, log_level="warning", record=record)
    target = None if record is None else RecordTarget.create(Path(record))
    model = str(resolve_model(None))
    configure_logging(args.log_level)

    def start_subprocess(children: Children, addresses: Addresses) -> None:
        children.start("minisgl-TP0-scheduler", run_scheduler, args, model, addresses, target)
        workers = {
            "minisgl-detokenizer-0": addresses.detokenizer,
            "minisgl-tokenizer-0": addresses.tokenizers[0],
        }
        for name, address in workers.items():
            links = (address, addresses.scheduler, addresses.frontend)
            build = partial(build_tokenize_worker, args)
            children.start(name, tokenize_worker, *links, model, build, partial(message_log, None, name))

    return run_api_server(args, start_subprocess, record=target)


if __name__ == "__main__":
    raise SystemExit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[4] if len(sys.argv) > 4 else None))
