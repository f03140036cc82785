"""What ``doctor`` looks at: one thing a check, and what to do where it is not as it should be."""

from __future__ import annotations

import json
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from ..language import Sentence, reason_of, sentence_of
from ..resources import chapters_dir, model_dir
from ..server.config import ServerArgs
from .install import PACKAGE, install_command

PYTHONS = ((3, 11), (3, 13))
DEFAULT_PORT = ServerArgs.port
PROBE_TIMEOUT_S = 120
DRIVER = "nvidia-smi"

STUDY, SERVE = Sentence("trace and check"), Sentence("{name}", name="serve")
SERVE_ON_GPU = Sentence("serve on a GPU")
FOR_ALL = (STUDY, SERVE, SERVE_ON_GPU)
FOR_STUDY = (STUDY,)
FOR_SERVING = (SERVE, SERVE_ON_GPU)
FOR_GPU = (SERVE_ON_GPU,)
FOR_NOTHING: tuple[Sentence, ...] = ()

TORCH_PROBE = """
import json, torch
gpu = torch.cuda.is_available()
names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())] if gpu else []
print(json.dumps([torch.__version__, torch.version.cuda, names]))
"""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: whether it will do, which commands need it, and what to do if not."""

    what: Sentence
    found: Sentence
    fine: bool
    needed_by: tuple[Sentence, ...]
    remedy: Sentence | None = None


def examine() -> Iterator[Finding]:
    """All findings, one after the other. None of them imports torch into this process."""
    yield python()
    light, engine, gpu = required(""), required("engine"), required("gpu")
    yield packages(Sentence("light packages"), light, "", FOR_ALL)
    yield chapters()
    yield shipped_model()
    yield packages(Sentence("engine packages"), engine, "engine", FOR_SERVING)
    gpus = None
    if find_spec("torch") is not None:
        torch, gpus = torch_build()
        yield torch
    yield sockets()
    yield port()
    if gpus is None and not has_driver():
        yield Finding(as_is("GPU"), Sentence("none (only `serve` on a GPU needs one)"), False, FOR_GPU)
        return
    if gpus is not None:
        yield gpus
    yield packages(Sentence("GPU packages"), set(gpu) - set(engine), "gpu", FOR_GPU)
    yield tool(
        DRIVER, ["--query-gpu=name,driver_version", "--format=csv,noheader"], Sentence("the NVIDIA driver")
    )
    toolkit = Sentence("the CUDA toolkit, with which FlashInfer builds kernels")
    yield tool("nvcc", ["--version"], toolkit)


def as_is(text: str) -> Sentence:
    """What is the same in every language: a name, a version, a command, a message of another program."""
    return Sentence("{text}", text=text)


def python() -> Finding:
    fine = PYTHONS[0] <= sys.version_info[:2] <= PYTHONS[1]
    found = Sentence(
        "{version} on {system} {machine}",
        version=platform.python_version(),
        system=platform.system(),
        machine=platform.machine(),
    )
    return Finding(as_is("Python"), found, fine, FOR_ALL, Sentence("use Python 3.11, 3.12 or 3.13"))


def packages(what: Sentence, names: Iterable[str], extra: str, needed_by: tuple[Sentence, ...]) -> Finding:
    """Whether these are installed; ``extra`` brings them, ``""`` being what the package always brings."""
    have, missing = [], []
    for name in sorted(names):
        try:
            have.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing.append(name)
    found = as_is(", ".join(have))
    if missing:
        found = Sentence("missing: {names}", names=", ".join(missing))
    return Finding(what, found, not missing, needed_by, as_is(install_command(extra)))


def required(extra: str) -> list[str]:
    """The packages that an extra of this package adds, by its own metadata."""
    found = []
    for requirement in metadata.requires(PACKAGE) or []:
        name = re.split(r"[^A-Za-z0-9_.-]", requirement, maxsplit=1)[0]
        of = re.search(r"extra\s*==\s*['\"](\w+)['\"]", requirement)
        if (of[1] if of else "") == extra and name != PACKAGE:
            found.append(name)
    return sorted(found)


def install_again() -> str:
    return f"{install_command()} --force-reinstall --no-deps"


def chapters() -> Finding:
    what, remedy = Sentence("chapters"), as_is(install_again())
    try:
        directory = chapters_dir()
    except FileNotFoundError as error:
        return Finding(what, sentence_of(error), False, FOR_STUDY, remedy)
    names = sorted(entry.name for entry in directory.iterdir() if entry.is_dir() and entry.name[0].isdigit())
    listed = ", ".join(names) or Sentence("none")
    found = Sentence("{listed} in {directory}", listed=listed, directory=directory)
    return Finding(what, found, bool(names), FOR_STUDY, remedy)


def shipped_model() -> Finding:
    directory = model_dir()
    what = Sentence("shipped model")
    remedy = Sentence("serve another with --model, or run {command}", command=install_again())
    try:
        kind = json.loads((directory / "config.json").read_text(encoding="utf-8"))["architectures"][0]
        size = safetensors_size(directory / "model.safetensors")
        _check_tokenizer(directory)
    except Exception as error:  # whatever a damaged file can raise
        found = Sentence("cannot be read: {reason}", reason=_reason(error))
        return Finding(what, found, False, FOR_SERVING, remedy)
    found = Sentence("{kind}, {size:.1f} MB, in {directory}", kind=kind, size=size / 1e6, directory=directory)
    return Finding(what, found, True, FOR_SERVING)


def torch_build() -> tuple[Finding, Finding | None]:
    """What torch is, and which GPUs it sees if anything here speaks of one.

    Asked of another process: importing it takes seconds and may fail in many ways.
    """
    what = as_is("torch")
    try:
        probe = subprocess.run(
            [sys.executable, "-c", TORCH_PROBE], capture_output=True, text=True, timeout=PROBE_TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        found = Sentence("no answer in {seconds} s", seconds=PROBE_TIMEOUT_S)
        return Finding(what, found, False, FOR_SERVING, Sentence("install torch again")), None
    if probe.returncode:
        found = Sentence("ended with status {code}", code=probe.returncode)
        if said := probe.stderr.strip():
            found = as_is(said.splitlines()[-1])
        return Finding(what, found, False, FOR_SERVING, as_is(install_command("engine"))), None
    version, cuda, names = json.loads(probe.stdout.splitlines()[-1])
    found = Sentence("{version}, built for the CPU", version=version)
    if cuda:
        found = Sentence("{version}, built for CUDA {cuda}", version=version, cuda=cuda)
    torch = Finding(what, found, True, FOR_SERVING)
    if not cuda and not has_driver():
        return torch, None
    remedy = Sentence("serve with --device cpu") if cuda else Sentence("install a CUDA build of torch")
    seen = as_is(", ".join(names)) if names else Sentence("none")
    return torch, Finding(Sentence("GPUs that torch can use"), seen, bool(names), FOR_GPU, remedy)


def has_driver() -> bool:
    return shutil.which(DRIVER) is not None


def sockets() -> Finding:
    from ..links.zmq_queue import ZmqPullQueue, ZmqPushQueue
    from ..message import AbortMsg
    from ..server.workers.addresses import choose_directory, make_directory, remove_directory
    from ..server.workers.errors import StartError

    what, remedy = Sentence("sockets between processes"), Sentence("set TMPDIR to another folder")
    try:
        directory = choose_directory()
        make_directory(directory)
        try:
            address = f"ipc://{directory / 'doctor'}"
            pull, push = ZmqPullQueue(address, "doctor"), ZmqPushQueue(address, "doctor")
            push.put(AbortMsg(uid=0))
            pull.drain(blocking=True)
            push.close()
            pull.close()
        finally:
            remove_directory(directory)
    except (StartError, OSError) as error:
        return Finding(what, _reason(error), False, FOR_SERVING, remedy)
    found = Sentence("work in {directory}", directory=directory.parent)
    return Finding(what, found, True, FOR_SERVING)


def port() -> Finding:
    from ..server.processes.port import bind_port
    from ..server.workers.errors import StartError

    what = Sentence("port {port}", port=DEFAULT_PORT)
    try:
        bind_port(ServerArgs.host, DEFAULT_PORT).close()
    except StartError:
        return Finding(what, Sentence("taken"), False, FOR_NOTHING, Sentence("serve on another with --port"))
    return Finding(what, Sentence("free"), True, FOR_NOTHING)


def tool(name: str, arguments: list[str], purpose: Sentence) -> Finding:
    what, again = as_is(name), Sentence("install {purpose} again", purpose=purpose)
    path = shutil.which(name)
    if path is None:
        remedy = Sentence("install {purpose}", purpose=purpose)
        return Finding(what, Sentence("not found"), False, FOR_GPU, remedy)
    try:
        answer = subprocess.run([path, *arguments], capture_output=True, text=True, timeout=PROBE_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding(what, _reason(error), False, FOR_GPU, again)
    lines = (answer.stdout.strip() or answer.stderr.strip()).splitlines()
    found = as_is(lines[-1].strip()) if lines else Sentence("no answer")
    return Finding(what, found, answer.returncode == 0, FOR_GPU, again)


def safetensors_size(file: Path) -> int:
    """The size of a file whose header fits it."""
    size = file.stat().st_size
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if length > size:
            raise ValueError(Sentence("{file} is damaged", file=file.name))
        header = json.loads(stream.read(length))
    end = max(entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__")
    if 8 + length + end != size:
        raise ValueError(Sentence("{file} is incomplete", file=file.name))
    return size


def _reason(error: Exception) -> Sentence:
    return reason_of(error) if isinstance(error, OSError) and error.strerror else sentence_of(error)


def _check_tokenizer(directory: Path) -> None:
    from ..tokenizer.load import load_tokenizer

    load_tokenizer(directory).apply_chat_template([{"role": "user", "content": "?"}])
