"""``trace --claim``: the scene that shows a statement of the chapters, opened at the step that does."""

from __future__ import annotations

from pathlib import Path

from ..language import Sentence, Tongue, sentence_of
from .told import tell


def scene_of_claim(number: str, say: Tongue) -> tuple[Path, list[str], int]:
    """The recording to play, the gaps to switch on, and the step to begin at. Says on stderr what it is.

    Ends the program with a sentence if there is no such claim, or no scene shows it.
    """
    from ..recording import read_recording
    from ..resources import model_dir
    from ..tokenizer.load import load_tokenizer
    from ..trace.claims import UnknownClaim, claim, scene_path, steps_of
    from ..trace.play import play
    from .fail import fail

    try:
        shown = claim(number)
    except UnknownClaim as error:
        fail(sentence_of(error))
    told = Sentence("{number}: {says}", number=number, says=Sentence(shown.says))
    if shown.note:
        told = Sentence("{statement} {note}", statement=told, note=Sentence(shown.note))
    tell(say(told), err=True)
    if not shown.scene:
        places = ", ".join([*shown.tests, *(place.at for place in shown.code)])
        if places:
            fail(Sentence("no scene shows it; {places} does", places=places))
        if shown.exercise:
            name = shown.exercise.partition("/")[2]
            fail(Sentence("no scene shows it; exercise {name} does", name=name))
        fail(Sentence("there is nothing to play: {about}", about=Sentence(shown.about)))
    path = scene_path(shown.scene)
    played = play(read_recording(path), load_tokenizer(model_dir()), shown.gaps)
    steps = steps_of(shown, played.steps)
    return path, list(shown.gaps), steps[0].number if steps else 1
