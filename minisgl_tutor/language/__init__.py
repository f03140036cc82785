"""The languages that a reader is spoken to in: sentences that know their values, and how each is said.

Code that finds something to say makes a ``Sentence``, in English. Whoever shows it has a ``Tongue``, and says
it.
"""

from .choice import LANGUAGES, SETTING, VARIABLE, Choice, Language, chosen
from .sentence import NOTHING, Sentence, counted, joined, sentence_of, verbatim
from .system import reason_of
from .tongue import ENGLISH, Tongue

__all__ = [
    "ENGLISH",
    "LANGUAGES",
    "NOTHING",
    "SETTING",
    "VARIABLE",
    "Choice",
    "Language",
    "Sentence",
    "Tongue",
    "chosen",
    "counted",
    "joined",
    "reason_of",
    "sentence_of",
    "verbatim",
]
