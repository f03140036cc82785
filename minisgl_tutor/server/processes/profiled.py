"""How a scheduler comes to be profiled: what it is built of passes through here."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from ...engine.base import Engine
from ...links import SyncPull, SyncPush
from ...profiling.chrome import TraceFile
from ...profiling.timeline import Timeline
from ...profiling.watch import Watch
from ..config import ServerArgs


class Profiling(Protocol):
    """Takes the parts of a scheduler, and gives those that it is to be built of."""

    def engine(self, engine: Engine) -> Engine: ...

    def pull(self, pull: SyncPull) -> SyncPull: ...

    def push(self, push: SyncPush) -> SyncPush: ...

    def close(self) -> None:
        """The run is over."""
        ...


class NoProfiling:
    """Leaves all as it is: nothing is measured, and nothing is paid."""

    def engine(self, engine: Engine) -> Engine:
        return engine

    def pull(self, pull: SyncPull) -> SyncPull:
        return pull

    def push(self, push: SyncPush) -> SyncPush:
        return push

    def close(self) -> None:
        pass


class ToFile(NoProfiling):
    """Writes a timeline to a file."""

    def __init__(self, path: Path) -> None:
        self._file = TraceFile(path)
        self._watch = Watch(Timeline(self._file))

    def engine(self, engine: Engine) -> Engine:
        """``engine`` must be the innermost one: only that says whether a step still runs."""
        from ...engine.profile import is_running, watch_planning

        watch_planning(engine, self._watch.timeline)
        return self._watch.engine(engine, is_running)

    def pull(self, pull: SyncPull) -> SyncPull:
        return self._watch.pull(pull)

    def push(self, push: SyncPush) -> SyncPush:
        return self._watch.push(push)

    def close(self) -> None:
        self._watch.timeline.idle()
        self._file.close()


class WithTorch:
    """Has torch trace some steps as well."""

    def __init__(self, others: Profiling, directory: Path) -> None:
        self._others = others
        self._directory = directory
        self.pull, self.push, self.close = others.pull, others.push, others.close

    def engine(self, engine: Engine) -> Engine:
        from ...engine.profile import TorchTracedEngine

        return TorchTracedEngine(self._others.engine(engine), self._directory)


def profiling(args: ServerArgs) -> Profiling:
    """What ``args`` ask for.

    Raises:
        ProfileError: the profile cannot be written.
    """
    to_file = NoProfiling() if args.profile is None else ToFile(Path(args.profile))
    return to_file if args.torch_profile is None else WithTorch(to_file, Path(args.torch_profile))
