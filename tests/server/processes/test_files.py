"""How many files a server may have open."""

from __future__ import annotations

import resource

import pytest

from minisgl_tutor.server.processes.files import allow_files
from minisgl_tutor.server.workers.errors import StartError


class Limit:
    """Stands for the limit of a process, which may not be set above ``grants``."""

    def __init__(self, soft: int, hard: int, grants: int = 1 << 20) -> None:
        self.soft, self.hard, self.grants = soft, hard, grants

    def get(self, kind: int) -> tuple[int, int]:
        assert kind == resource.RLIMIT_NOFILE
        return self.soft, self.hard

    def set(self, kind: int, limits: tuple[int, int]) -> None:
        if limits[0] > self.grants:
            raise ValueError("not allowed to raise maximum limit")
        self.soft, self.hard = limits


@pytest.mark.parametrize(
    ("limit", "soft"),
    [
        (Limit(256, 4096), 4096),
        (Limit(1024, 1 << 20), 65_536),
        (Limit(100_000, 1 << 20), 100_000),
        (Limit(256, resource.RLIM_INFINITY), 65_536),
        (Limit(256, resource.RLIM_INFINITY, grants=10_240), 256),
    ],
)
def test_as_many_as_are_granted(monkeypatch: pytest.MonkeyPatch, limit: Limit, soft: int) -> None:
    hard = limit.hard
    monkeypatch.setattr(resource, "getrlimit", limit.get)
    monkeypatch.setattr(resource, "setrlimit", limit.set)
    allow_files()
    assert (limit.soft, limit.hard) == (soft, hard)


def test_too_few_for_a_server_are_told_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    limit = Limit(16, 30)
    monkeypatch.setattr(resource, "getrlimit", limit.get)
    monkeypatch.setattr(resource, "setrlimit", limit.set)
    with pytest.raises(StartError, match="only 30 files open here"):
        allow_files()
