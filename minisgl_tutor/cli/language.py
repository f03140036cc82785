"""``minisgl-tutor language``: which language this program speaks, and which it shall."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from ..language import SETTING, VARIABLE, Language, Sentence, Tongue, sentence_of
from .caller import OPTION, Caller, caller
from .fail import fail
from .setting import SettingError, keep_language, setting_file
from .told import tell

NAMES: dict[Language, Sentence] = {"en": Sentence("English"), "zh": Sentence("Chinese")}


def language(
    context: typer.Context,
    wanted: Annotated[
        Literal["en", "zh", "auto"] | None,
        typer.Argument(
            help="Speak English or Chinese from now on; auto forgets that, so that the locale decides.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show which language this program speaks and what has chosen it, or set one to stay.

    It is that of --lang on the line, else of the variable MINISGL_TUTOR_LANG, else the one set
    here, else that of the locale (LC_ALL, LC_MESSAGES, LANG), else English.
    """
    who = caller(context)
    if wanted is None:
        tell(who.say(_state(who)))
        return
    kept: Language | None = None if wanted == "auto" else wanted
    try:
        keep_language(kept)
    except SettingError as error:
        fail(sentence_of(error), status=1)
    say = Tongue(kept or who.say.language)
    if kept is None:
        tell(say(Sentence("No language is set any more.")))
    else:
        tell(say(Sentence("From now on: {language} ({file})", language=NAMES[kept], file=setting_file())))
    if who.chosen_by == VARIABLE:
        tell(say(Sentence("But the variable {name} is set here, and goes before it.", name=VARIABLE)))


def _state(who: Caller) -> Sentence:
    by = {
        OPTION: Sentence("--lang on this line says so"),
        SETTING: Sentence("set in {file}", file=setting_file()),
        "": Sentence("nothing else is asked for"),
    }.get(who.chosen_by, Sentence("the variable {name} says so", name=who.chosen_by))
    return Sentence("{language}: {by}", language=NAMES[who.say.language], by=by)
