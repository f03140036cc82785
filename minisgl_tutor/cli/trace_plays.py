"""What ``trace`` plays, and with what."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..gaps import resolve
from ..language import Sentence, sentence_of
from ..recording import Recording, read_recording
from ..trace.play import Play, play, stream
from ..trace.scenes import scene_of_gap, scenes_of, title_of
from .fail import fail

if TYPE_CHECKING:
    from ..tokenizer.tokenizer import Tokenizer
    from ..trace.steps import Step


@dataclass(frozen=True)
class Chosen:
    """A recording that is to be played, and the gaps that are on meanwhile."""

    path: Path
    recording: Recording
    gaps: tuple[str, ...]

    @property
    def name(self) -> str:
        """The file's name without ending and without the number that orders it."""
        return re.sub(r"^\d+-(?=.)", "", self.path.stem)

    @property
    def title(self) -> Sentence:
        return title_of(self.recording, self.path)


def chosen(
    file: Path | None, chapter: int | None, scene: str | None, gap: Sequence[str], fixed: bool
) -> list[Chosen]:
    """The recording of a file, or those of a chapter, or else the scene of each gap.

    Raises:
        RecordingError, SceneNotFound, UnknownGap: there is none, or no such gap.
    """
    wanted = resolve(gap) if gap else None
    if file is not None:
        paths = [file]
    elif chapter is not None:
        paths = [each.path for each in scenes_of(chapter, scene)]
    else:
        paths = list(dict.fromkeys(map(scene_of_gap, wanted or ())))
    plays = []
    for path in paths:
        recording = read_recording(path)
        gaps = wanted
        if gaps is None:
            gaps = () if fixed else resolve(recording.header.gaps if file is not None else ["reference"])
        plays.append(Chosen(path, recording, gaps))
    return plays


@dataclass(frozen=True)
class Player:
    """Plays recordings with what the reader has given for it; ``classes`` are those of the file ``yours``."""

    tokenizer: Path | None
    yours: Path | None
    classes: Sequence[type]
    spec_version: str

    def play(self, recording: Recording, gaps: tuple[str, ...]) -> Play:
        words = tokenizer_of(recording, self.tokenizer)
        return play(recording, words, gaps, classes=self.classes, spec_version=self.spec_version)

    def stream(self, recording: Recording, gaps: tuple[str, ...], give: Callable[[Step], None]) -> Play:
        """The same, which hands each step on and keeps none."""
        words = tokenizer_of(recording, self.tokenizer)
        return stream(recording, words, gaps, give, classes=self.classes, spec_version=self.spec_version)


def player(tokenizer: Path | None, yours: Path | None, spec_version: str) -> Player:
    """Ends the program with a sentence if ``yours`` cannot be loaded."""
    from ..exercises.reader_file import ReaderFileError, load_classes

    try:
        classes = () if yours is None else load_classes(yours)
    except ReaderFileError as error:
        fail(sentence_of(error))
    return Player(tokenizer, yours, classes, spec_version)


def tokenizer_of(recording: Recording, given: Path | None) -> Tokenizer:
    """The recorded model's. Ends the program with a sentence if it is not here."""
    from ..resources import model_dir
    from ..tokenizer.load import TokenizerNotFound, load_tokenizer
    from ..trace.redacted import stand_in_tokenizer
    from ..trace.wall import recorded_clock

    if recording.header.redacted is True:
        return stand_in_tokenizer(recording.header)
    model = recording.header.model
    try:
        directory = given or (model_dir() if model is None else Path(model))
        return load_tokenizer(directory, recorded_clock(recording))
    except TokenizerNotFound as error:
        fail(
            Sentence(
                "the recorded model has no tokenizer here ({why}); say where it is with --tokenizer DIR",
                why=sentence_of(error),
            )
        )
