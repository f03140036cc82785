"""The reader's folder: their files and their tasks, recordings of what failed, and what has been passed."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Literal

from .catalogue import Exercise

NAME = "minisgl-exercises"
VERSION = 2

TEXTS = {"README.md": ".md", "README.zh.md": ".zh.md"}
"""What is asked, in each language: its name beside the exercise, and how it ends in the workspace."""

State = Literal["not-started", "started", "passed", "changed"]


class WorkspaceError(Exception):
    """The folder cannot be written to. ``path`` and ``reason`` say where and why."""

    def __init__(self, error: OSError, path: Path) -> None:
        self.path = Path(error.filename) if error.filename else path
        self.reason = error.strerror or str(error)
        super().__init__(f"{self.path}: {self.reason}")


def shown(path: Path) -> str:
    """As a reader would type it: from where they are, if it is below."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


class Workspace:
    """The folder ``root``, which need not exist yet."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._progress = root / ".progress.json"

    @classmethod
    def find(cls, here: Path) -> Workspace:
        """The workspace that ``here`` is in or above it; else the one that would be made here."""
        for folder in (here, *here.parents):
            if folder.name == NAME:
                return cls(folder)
            if (folder / NAME).is_dir():
                return cls(folder / NAME)
        return cls(here / NAME)

    def file(self, exercise: Exercise) -> Path:
        return self.root / f"{exercise.name}.py"

    def texts(self, exercise: Exercise) -> list[Path]:
        """What is asked, English first: the copy beside the reader's file, or else the original."""
        copies = ((self.root / f"{exercise.name}{ending}", name) for name, ending in TEXTS.items())
        return [copy if copy.is_file() else exercise.path / name for copy, name in copies]

    @property
    def failures(self) -> Path:
        return self.root / ".failures"

    def start(self, exercise: Exercise) -> bool:
        """Puts the starter there, unless a file is there already. Whether it did.

        What is asked is put beside it, again without overwriting anything.

        Raises:
            WorkspaceError: the starter cannot be written.
        """
        file = self.file(exercise)
        starter = (exercise.path / "starter.py").read_bytes()
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            new = _write_new(file, starter)
        except FileExistsError:
            raise WorkspaceError(NotADirectoryError(20, "it is not a folder"), self.root) from None
        except OSError as error:
            raise WorkspaceError(error, file) from error
        # A folder with the reader's file may be read-only; `texts` then has the originals.
        with suppress(OSError):
            self._put_texts(exercise)
        return new

    def _put_texts(self, exercise: Exercise) -> None:
        for name, ending in TEXTS.items():
            text = (exercise.path / name).read_text("utf-8")
            for other, its_ending in TEXTS.items():
                text = text.replace(f"({other})", f"({exercise.name}{its_ending})")
            _write_new(self.root / f"{exercise.name}{ending}", text.encode())

    def state(self, exercise: Exercise) -> State:
        """``changed``: it has been passed, by a file that is another one now."""
        there = self.file(exercise).is_file()
        if (digest := self._passed().get(exercise.key)) is not None:
            return "changed" if there and self.digest(exercise) != digest else "passed"
        return "started" if there else "not-started"

    def digest(self, exercise: Exercise) -> str:
        """Of the reader's file as it is now; empty if it cannot be read."""
        try:
            return hashlib.sha256(self.file(exercise).read_bytes()).hexdigest()
        except OSError:
            return ""

    def pass_(self, exercise: Exercise, digest: str) -> None:
        """Notes that the exercise has been passed, by a file of that digest.

        Raises:
            WorkspaceError: that cannot be written.
        """
        passed = {**self._passed(), exercise.key: digest}
        text = json.dumps({"version": VERSION, "passed": passed}, indent=1) + "\n"
        new = self._progress.with_suffix(".new")
        try:
            new.write_text(text, "utf-8")
            os.replace(new, self._progress)
        except OSError as error:
            raise WorkspaceError(error, self._progress) from error

    def set_aside_damage(self) -> Path | None:
        """A progress file that cannot be read is renamed; its new name, or null if all is well."""
        if self._read() is not None:
            return None
        kept = self._progress.with_suffix(".damaged")
        try:
            os.replace(self._progress, kept)
        except OSError:
            return self._progress
        return kept

    def _passed(self) -> dict[str, str]:
        return self._read() or {}

    def _read(self) -> dict[str, str] | None:
        """The digest of the file that passed, by the exercise's key; null if the file is damaged."""
        try:
            data = json.loads(self._progress.read_text("utf-8"))
            passed = data["passed"]
            return {key: digest for key, digest in passed.items() if isinstance(digest, str)}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None


def _write_new(file: Path, content: bytes) -> bool:
    """Whether it was written: a file that is there stays as it is.

    Raises:
        OSError: it cannot be written.
    """
    try:
        with file.open("xb") as new:
            new.write(content)
    except FileExistsError:
        return False
    return True
