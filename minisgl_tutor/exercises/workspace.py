"""The reader's folder: their files, the recordings of what failed, and what they have passed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Literal

from .catalogue import Exercise

NAME = "minisgl-exercises"
VERSION = 1

State = Literal["not-started", "started", "passed"]


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

    @property
    def failures(self) -> Path:
        return self.root / ".failures"

    def start(self, exercise: Exercise) -> bool:
        """Puts the starter there, unless a file is there already. Whether it did.

        Raises:
            WorkspaceError: the file cannot be written.
        """
        file = self.file(exercise)
        starter = (exercise.path / "starter.py").read_bytes()
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            with file.open("xb") as new:
                new.write(starter)
        except FileExistsError:
            if not self.root.is_dir():
                raise WorkspaceError(NotADirectoryError(20, "it is not a folder"), self.root) from None
            return False
        except OSError as error:
            raise WorkspaceError(error, file) from error
        return True

    def state(self, exercise: Exercise) -> State:
        if exercise.key in self._passed():
            return "passed"
        return "started" if self.file(exercise).is_file() else "not-started"

    def pass_(self, exercise: Exercise) -> None:
        """Notes that the exercise has been passed.

        Raises:
            WorkspaceError: that cannot be written.
        """
        passed = sorted({*self._passed(), exercise.key})
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

    def _passed(self) -> set[str]:
        return self._read() or set()

    def _read(self) -> set[str] | None:
        """The keys of what was passed; null if the file is damaged."""
        try:
            data = json.loads(self._progress.read_text("utf-8"))
            passed = data["passed"]
            return {each for each in passed if isinstance(each, str)} if isinstance(passed, list) else None
        except FileNotFoundError:
            return set()
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
