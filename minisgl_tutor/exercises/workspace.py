"""The reader's folder: their files and their tasks, recordings of what failed, and what has been passed."""

from __future__ import annotations

import errno
import hashlib
import os
import re
from contextlib import suppress
from difflib import SequenceMatcher
from pathlib import Path
from typing import Literal

import msgspec

from ..language import Language, Sentence, reason_of
from ..resources import shipped
from .catalogue import Exercise

NAME = "minisgl-exercises"
VERSION = 3

TEXTS = {"README.md": ".md", "README.zh.md": ".zh.md"}
"""What is asked, in each language: its name beside the exercise, and how it ends in the workspace."""

STARTERS: dict[Language, str] = {"en": "starter.py", "zh": "starter.zh.py"}
"""What the reader begins with, in each language: one code, under docstrings of its own."""

REMARK = re.compile(r"^<!--.*?-->\n", re.MULTILINE)
"""In what is asked: for whoever fills the page, not for the reader."""

State = Literal["not-started", "started", "passed", "changed"]


class WorkspaceError(Exception):
    """The folder cannot be written to: a ``Sentence`` that says where and why."""

    def __init__(self, error: OSError, path: Path) -> None:
        super().__init__(unwritten(Path(error.filename) if error.filename else path, error))


def unwritten(path: Path, error: OSError) -> Sentence:
    """That nothing could be written there."""
    return Sentence("{path} cannot be written: {why}", path=path, why=reason_of(error))


def shown(path: Path) -> str:
    """As a reader would type it: from where they are, if it is below."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


class Progress(msgspec.Struct):
    """By exercise: the digest of the file that passed it, and how many hints have been shown."""

    version: int = VERSION
    passed: dict[str, str] = {}
    hints: dict[str, int] = {}


_progress_decoder = msgspec.json.Decoder(Progress)


class Workspace:
    """The folder ``root``, which need not exist yet. A starter is put there in ``language``."""

    def __init__(self, root: Path, language: Language = "en") -> None:
        self.root = root
        self.language = language
        self._file = root / ".progress.json"

    @classmethod
    def find(cls, here: Path, language: Language = "en") -> Workspace:
        """The workspace that ``here`` is in or above it; else the one that would be made here."""
        for folder in (here, *here.parents):
            if folder.name == NAME:
                return cls(folder, language)
            if (folder / NAME).is_dir():
                return cls(folder / NAME, language)
        return cls(here / NAME, language)

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
        file, starter = self.file(exercise), _starter(exercise, self.language)
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            new = _write_new(file, starter)
        except FileExistsError:
            raise WorkspaceError(
                NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)), self.root
            ) from None
        except OSError as error:
            raise WorkspaceError(error, file) from error
        # A folder with the reader's file may be read-only; `texts` then has the originals.
        with suppress(OSError):
            self._put_texts(exercise)
        return new

    def _put_texts(self, exercise: Exercise) -> None:
        for name, ending in TEXTS.items():
            text = REMARK.sub("", (exercise.path / name).read_text("utf-8"))
            for other, its_ending in TEXTS.items():
                text = text.replace(f"({other})", f"({exercise.name}{its_ending})")
                text = re.sub(rf"\(\.\./([\w.-]+)/{re.escape(other)}\)", rf"(\1{its_ending})", text)
            _write_new(self.root / f"{exercise.name}{ending}", text.encode())

    def begun_from(self, exercise: Exercise, yours: str) -> str:
        """The starter, in the language in which it is nearest to the text ``yours``."""
        lines = yours.splitlines()
        languages = [self.language, *STARTERS]  # the first of equals is taken
        starters = [_starter(exercise, language).decode() for language in languages]
        return max(starters, key=lambda each: SequenceMatcher(None, each.splitlines(), lines).ratio())

    def reset(self, exercise: Exercise) -> Path | None:
        """Puts the starter back. Where the file as it was is kept, or null if it is the starter already.

        One in another language is no exception: it is kept, and gives way to that of the reader's.

        Raises:
            WorkspaceError: that cannot be written.
        """
        file = self.file(exercise)
        if self.start(exercise) or file.read_bytes() == _starter(exercise, self.language):
            return None
        number = 1
        while (kept := file.with_name(f"{file.name}.{number}")).exists():
            number += 1
        try:
            os.replace(file, kept)
        except OSError as error:
            raise WorkspaceError(error, file) from error
        self.start(exercise)
        return kept

    # -- progress

    def state(self, exercise: Exercise) -> State:
        """``changed``: it has been passed, by a file that is another one now."""
        there = self.file(exercise).is_file()
        if (digest := self._progress().passed.get(exercise.key)) is not None:
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
        progress = self._progress()
        progress.passed[exercise.key] = digest
        self._write(progress)

    def next_hint(self, exercise: Exercise, of: int) -> int:
        """The number of the hint that is due, from 1; the last one stays the last. It is noted as shown.

        Raises:
            WorkspaceError: that cannot be written.
        """
        progress = self._progress()
        step = min(progress.hints.get(exercise.key, 0) + 1, of)
        progress.hints[exercise.key] = step
        self._write(progress)
        return step

    def set_aside_damage(self) -> Path | None:
        """A progress file that cannot be read is renamed; its new name, or null if all is well."""
        if self._read() is not None:
            return None
        kept = self._file.with_suffix(".damaged")
        try:
            os.replace(self._file, kept)
        except OSError:
            return self._file
        return kept

    def _progress(self) -> Progress:
        return self._read() or Progress()

    def _read(self) -> Progress | None:
        """Null if the file is damaged."""
        try:
            return _progress_decoder.decode(self._file.read_bytes())
        except FileNotFoundError:
            return Progress()
        except (OSError, ValueError, RecursionError):
            return None

    def _write(self, progress: Progress) -> None:
        new = self._file.with_suffix(".new")
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            new.write_bytes(msgspec.json.format(msgspec.json.encode(progress), indent=1) + b"\n")
            os.replace(new, self._file)
        except OSError as error:
            raise WorkspaceError(error, self._file) from error


def _starter(exercise: Exercise, language: Language) -> bytes:
    return shipped(exercise.path / STARTERS[language]).read_bytes()


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
