"""Commands in a page of Markdown, and the output that stands below them.

A fence of ``console`` holds what a terminal shows::

    <!-- output: 1 /^#88/,+2; $ -->
    ```console
    $ minisgl-tutor trace --chapter 5 --scene normal-end
    ...
    $ minisgl-tutor exercises
    ...
    ```

Behind ``$ `` stands a command; it goes on in the next line while a quote or a backslash is open. What
follows is its output, in which ``...`` stands for anything, as in a doctest. The comment says, command
by command, which lines of an output are shown: numbers, ``$`` for the last one, ``/pattern/`` for the
first that matches, ``A,B`` or ``A,+N`` for a range, as in sed, and ``A,>`` for a line with those that
are indented below it, as a step of a trace is. Without a comment all lines are shown. An output that
ends with ``^C`` is that of a command which is interrupted once it has printed something.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from doctest import ELLIPSIS, OutputChecker
from itertools import takewhile

BLOCK = re.compile(r"^(?:<!-- output: (?P<marker>[^\n]+) -->\n)?```console\n(?P<body>.*?)^```$", re.M | re.S)
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
INLINE = re.compile(r"`(minisgl-tutor [^`\n]+)`")
PROMPT = "$ "
INTERRUPTED = "^C\n"
LEFT_OUT = "..."

ADDRESS = r"\d+|\$|/[^/]+/"
RANGE = re.compile(rf"({ADDRESS})(?:,({ADDRESS}|\+\d+|>))?(?=\s|$)\s*")

NEVER_THE_SAME = (
    (re.compile(r"\b(chatcmpl-|req_)[0-9a-f]{32}\b"), r"\1..."),
    (re.compile(r'("created":)\d+'), r"\1..."),
    (re.compile(r"^(date: ).*"), r"\1..."),
    (re.compile(r"(\.py:)\d+"), r"\1..."),  # an edit elsewhere in a file makes no page stale
)


class TranscriptError(ValueError):
    """A block cannot be read, or asks for lines that an output does not have. The message names it."""


@dataclass(frozen=True)
class Command:
    """``typed`` as it stands in the page, ``shown``: the lines below it, each with its end."""

    typed: str
    shown: str

    @property
    def line(self) -> str:
        """Without the prompt, and without the ends of lines that a backslash hides."""
        return self.typed.removeprefix(PROMPT).replace("\\\n", "")

    @property
    def program(self) -> str:
        """The first word of the line."""
        return shlex.split(self.line, comments=True)[0]

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl+C ends it."""
        return self.shown.endswith(INTERRUPTED)


def commands(body: str) -> list[Command]:
    """The commands of a block.

    Raises:
        TranscriptError: it begins with something else, or a command has no end.
    """
    found: list[Command] = []
    lines = body.splitlines()
    while lines:
        if not lines[0].startswith(PROMPT):
            raise TranscriptError(f"a block of console begins with '$ ' and a command, not with: {lines[0]}")
        typed = [lines.pop(0)]
        while not _is_whole("\n".join(typed)):
            if not lines:
                raise TranscriptError(f"this command has no end: {typed[0]}")
            typed.append(lines.pop(0))
        shown = []
        while lines and not lines[0].startswith(PROMPT):
            shown.append(lines.pop(0) + "\n")
        found.append(Command("\n".join(typed), "".join(shown)))
    return found


def _is_whole(typed: str) -> bool:
    try:
        shlex.split(typed, comments=True)
    except ValueError:
        return False
    return True


def typed_in(text: str) -> Iterator[Command | str]:
    """What a page has its reader type, in order: commands of blocks, and command lines between backticks."""
    end = 0
    for block in BLOCK.finditer(text):
        yield from INLINE.findall(FENCE.sub("", text[end : block.start()]))
        yield from commands(block["body"])
        end = block.end()
    yield from INLINE.findall(FENCE.sub("", text[end:]))


def difference(command: Command, output: str) -> str:
    """How an output differs from what a page shows of it; empty if it does not."""
    checker = OutputChecker()
    want, got = command.shown, tidy(output)
    if checker.check_output(want, got, ELLIPSIS):
        return ""
    return f"{command.typed}\n" + "".join(_told(want, got))


def _told(want: str, got: str) -> Iterator[str]:
    for title, text in (("The page shows:\n", want), ("This is printed:\n", got)):
        yield title
        yield from (f"    {line}\n" for line in text.splitlines())


def tidy(output: str) -> str:
    """Without spaces at the ends of lines, and with an end to the last one."""
    return "".join(line.rstrip() + "\n" for line in output.splitlines())


def filled(text: str, run: Callable[[Command], str]) -> str:
    """``text`` with a current output, which ``run`` gives, below each command.

    Raises:
        TranscriptError: a block cannot be read, or asks for what is not in the output.
    """

    def block(found: re.Match[str]) -> str:
        each = commands(found["body"])
        parts = found["marker"].split(";") if found["marker"] else ["1,$"] * len(each)
        if len(parts) != len(each):
            raise TranscriptError(f"output: {found['marker']}: {len(parts)} parts for {len(each)} commands")
        body = "".join(
            f"{command.typed}\n{excerpt(tidy(run(command)), part)}"
            for command, part in zip(each, parts, strict=True)
        )
        head = f"<!-- output: {found['marker']} -->\n" if found["marker"] else ""
        return f"{head}```console\n{body}```"

    return BLOCK.sub(block, text)


def excerpt(output: str, ranges: str) -> str:
    """The lines that are asked for, with ``...`` for those between, and for what differs each time."""
    lines = output.splitlines()
    kept = sorted({number for asked in _parsed(ranges) for number in _numbers(lines, *asked)})
    shown: list[str] = []
    behind = 0
    for number in kept:
        if number > behind + 1:
            shown.append(LEFT_OUT)
        shown.append(_masked(lines[number - 1]))
        behind = number
    if behind < len(lines):
        shown.append(LEFT_OUT)
    return "".join(line + "\n" for line in shown)


def _masked(line: str) -> str:
    for pattern, instead in NEVER_THE_SAME:
        line = pattern.sub(instead, line)
    return line


def _parsed(ranges: str) -> list[tuple[str, str]]:
    rest, found = ranges.strip(), []
    while rest:
        asked = RANGE.match(rest)
        if asked is None:
            raise TranscriptError(f"output: {ranges.strip()}: write lines as in '1,3 /^GAP/,+2 $'")
        found.append((asked[1], asked[2] or ""))
        rest = rest[asked.end() :]
    return found


def _numbers(lines: list[str], first: str, last: str) -> range:
    begin = _number(lines, first, 1)
    if not last:
        return range(begin, begin + 1)
    if last == ">":
        below = takewhile(lambda line: line.startswith(" "), lines[begin:])
        return range(begin, begin + 1 + len(list(below)))
    end = begin + int(last) if last.startswith("+") else _number(lines, last, begin)
    return range(begin, min(end, len(lines)) + 1)


def _number(lines: list[str], address: str, begin: int) -> int:
    """The number of the line that is meant, from 1; a pattern is looked for from ``begin`` on."""
    if address.startswith("/"):
        for number, line in enumerate(lines[begin - 1 :], begin):
            if re.search(address.strip("/"), line):
                return number
        raise TranscriptError(f"output: no line has {address} in:\n" + "\n".join(lines[:40]))
    number = len(lines) if address == "$" else int(address)
    if not 1 <= number <= len(lines):
        raise TranscriptError(f"output: there is no line {address} in:\n" + "\n".join(lines[:40]))
    return number
