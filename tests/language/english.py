"""Finds English that was left in what a reader of Chinese is shown."""

from __future__ import annotations

import re

CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\]8;.*?\x1b\\")
FENCED = re.compile(r"^\s*```.*?^\s*```", re.DOTALL | re.MULTILINE)
QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"|“[^”]*”|「[^」]*」|(?<![a-z])'[^']*'(?![a-z])")
CODE = re.compile(
    r"^\s*(\$|[{\[\"#@>]|(\S*/)?(minisgl-tutor|python3?|pip3?|curl|git|sh)\s|\S+ = "
    r"|(def|class|from|import|return|if|for|while|with|async|await|raise|try|except|else|elif)\b.*[:(=.])"
)
"""How a line begins that is code, JSON or a command."""

PARTED = re.compile(r"\s{2,}|[\u2500-\u257f|]")
"""What stands between the cells of a table."""

CHINESE = re.compile(r"[\u3400-\u9fff]")
RUN = re.compile(
    r"(?<![\w./=<>-])[A-Za-z](?:[a-z]*(?:'[a-z]+)?)[,;:]?(?: [A-Za-z][a-z]*(?:'[a-z]+)?[,;:]?){3,}(?![\w/=-])"
)
SMALL = {
    *("a", "an", "the", "and", "or", "not", "no", "so", "than", "that", "this", "it"),
    *(
        "are",
        "is",
        "was",
        "be",
        "does",
        "has",
        "have",
        "as",
        "at",
        "by",
        "for",
        "from",
        "in",
        "of",
        "on",
        "to",
    ),
}
"""Words that only sentences have."""


def english_left(text: str) -> list[str]:
    """The lines with English prose in them: four words in a row that are no code, JSON, command, path.

    In a line that has Chinese too, names of things may stand in a row, so there one of the words must be one
    that only sentences have. What is quoted is data.
    """
    left = []
    for line in FENCED.sub("", CONTROLS.sub("", text)).splitlines():
        if CODE.match(line):
            continue
        prose = QUOTED.sub("…", line)
        if any(_is_english(cell) for cell in PARTED.split(prose)):
            left.append(line.strip())
    return left


def _is_english(cell: str) -> bool:
    runs = [[word.strip(",;:").lower() for word in run.split()] for run in RUN.findall(cell)]
    return any(not CHINESE.search(cell) or SMALL.intersection(run) for run in runs)
