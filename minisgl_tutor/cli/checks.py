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

from ..resources import chapters_dir, model_dir
from .install import PACKAGE, install_command

PYTHONS = ((3, 11), (3, 13))
DEFAULT_PORT = 1919
PROBE_TIMEOUT_S = 120
DRIVER = "nvidia-smi"

STUDY, SERVE, SERVE_ON_GPU = "trace and check", "serve", "serve on a GPU"
FOR_ALL = (STUDY, SERVE, SERVE_ON_GPU)
FOR_STUDY = (STUDY,)
FOR_SERVING = (SERVE, SERVE_ON_GPU)
FOR_GPU = (SERVE_ON_GPU,)
FOR_NOTHING: tuple[str, ...] = ()

TORCH_PROBE = """
import json, torch
gpu = torch.cuda.is_available()
names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())] if gpu else []
print(json.dumps([torch.__version__, torch.version.cuda, names]))
"""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: whether it will do, which commands need it, and what to do if not."""

    what: str
    found: str
    fine: bool
    needed_by: tuple[str, ...]
    remedy: str = ""


def examine() -> Iterator[Finding]:
    """All findings, one after the other. None of them imports torch into this process."""
    yield python()
    light, engine, gpu = required(""), required("engine"), required("gpu")
    yield packages("light packages", light, "", FOR_ALL)
    yield chapters()
    yield shipped_model()
    yield packages("engine packages", engine, "engine", FOR_SERVING)
    gpus = None
    if find_spec("torch") is not None:
        torch, gpus = torch_build()
        yield torch
    yield sockets()
    yield port()
    if gpus is None and not has_driver():
        yield Finding("GPU", "none (only `serve` on a GPU needs one)", False, FOR_GPU)
        return
    if gpus is not None:
        yield gpus
    yield packages("GPU packages", set(gpu) - set(engine), "gpu", FOR_GPU)
    yield tool(DRIVER, ["--query-gpu=name,driver_version", "--format=csv,noheader"], "the NVIDIA driver")
    yield tool("nvcc", ["--version"], "the CUDA toolkit, with which FlashInfer builds kernels")


def python() -> Finding:
    fine = PYTHONS[0] <= sys.version_info[:2] <= PYTHONS[1]
    found = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    return Finding("Python", found, fine, FOR_ALL, "use Python 3.11, 3.12 or 3.13")


def packages(what: str, names: Iterable[str], extra: str, needed_by: tuple[str, ...]) -> Finding:
    """Whether these are installed; ``extra`` brings them, ``""`` being what the package always brings."""
    have, missing = [], []
    for name in sorted(names):
        try:
            have.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing.append(name)
    found = f"missing: {', '.join(missing)}" if missing else ", ".join(have)
    return Finding(what, found, not missing, needed_by, install_command(extra))


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
    try:
        directory = chapters_dir()
    except FileNotFoundError as error:
        return Finding("chapters", str(error), False, FOR_STUDY, install_again())
    names = sorted(entry.name for entry in directory.iterdir() if entry.is_dir() and entry.name[0].isdigit())
    found = f"{', '.join(names) or 'none'} in {directory}"
    return Finding("chapters", found, bool(names), FOR_STUDY, install_again())


def shipped_model() -> Finding:
    directory = model_dir()
    remedy = f"serve another with --model, or run {install_again()}"
    try:
        kind = json.loads((directory / "config.json").read_text(encoding="utf-8"))["architectures"][0]
        size = safetensors_size(directory / "model.safetensors")
        _check_tokenizer(directory)
    except Exception as error:  # whatever a damaged file can raise
        return Finding("shipped model", f"cannot be read: {error}", False, FOR_SERVING, remedy)
    return Finding("shipped model", f"{kind}, {size / 1e6:.1f} MB, in {directory}", True, FOR_SERVING)


def torch_build() -> tuple[Finding, Finding | None]:
    """What torch is, and which GPUs it sees if anything here speaks of one.

    Asked of another process: importing it takes seconds and may fail in many ways.
    """
    try:
        probe = subprocess.run(
            [sys.executable, "-c", TORCH_PROBE], capture_output=True, text=True, timeout=PROBE_TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        found = f"no answer in {PROBE_TIMEOUT_S} s"
        return Finding("torch", found, False, FOR_SERVING, "install torch again"), None
    if probe.returncode:
        reason = (probe.stderr.strip() or f"ended with status {probe.returncode}").splitlines()[-1]
        return Finding("torch", reason, False, FOR_SERVING, install_command("engine")), None
    version, cuda, names = json.loads(probe.stdout.splitlines()[-1])
    build = f"built for CUDA {cuda}" if cuda else "built for the CPU"
    torch = Finding("torch", f"{version}, {build}", True, FOR_SERVING)
    if not cuda and not has_driver():
        return torch, None
    remedy = "serve with --device cpu" if cuda else "install a CUDA build of torch"
    return torch, Finding("GPUs that torch can use", ", ".join(names) or "none", bool(names), FOR_GPU, remedy)


def has_driver() -> bool:
    return shutil.which(DRIVER) is not None


def sockets() -> Finding:
    from ..links.zmq_queue import ZmqPullQueue, ZmqPushQueue
    from ..message import AbortMsg
    from ..server.workers.addresses import choose_directory, make_directory, remove_directory
    from ..server.workers.errors import StartError

    what, remedy = "sockets between processes", "set TMPDIR to another folder"
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
        return Finding(what, str(error), False, FOR_SERVING, remedy)
    return Finding(what, f"work in {directory.parent}", True, FOR_SERVING)


def port() -> Finding:
    from ..server.processes.port import bind_port
    from ..server.workers.errors import StartError

    try:
        bind_port("127.0.0.1", DEFAULT_PORT).close()
    except StartError:
        return Finding(f"port {DEFAULT_PORT}", "taken", False, FOR_NOTHING, "serve on another with --port")
    return Finding(f"port {DEFAULT_PORT}", "free", True, FOR_NOTHING)


def tool(name: str, arguments: list[str], purpose: str) -> Finding:
    path = shutil.which(name)
    if path is None:
        return Finding(name, "not found", False, FOR_GPU, f"install {purpose}")
    try:
        answer = subprocess.run([path, *arguments], capture_output=True, text=True, timeout=PROBE_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding(name, str(error), False, FOR_GPU, f"install {purpose} again")
    lines = (answer.stdout.strip() or answer.stderr.strip() or "no answer").splitlines()
    return Finding(name, lines[-1].strip(), answer.returncode == 0, FOR_GPU, f"install {purpose} again")


def safetensors_size(file: Path) -> int:
    """The size of a file whose header fits it."""
    size = file.stat().st_size
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if length > size:
            raise ValueError(f"{file.name} is damaged")
        header = json.loads(stream.read(length))
    end = max(entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__")
    if 8 + length + end != size:
        raise ValueError(f"{file.name} is incomplete")
    return size


def _check_tokenizer(directory: Path) -> None:
    from ..tokenizer.load import load_tokenizer

    load_tokenizer(directory).apply_chat_template([{"role": "user", "content": "?"}])
