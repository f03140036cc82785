"""Blocks of commands and outputs: how they are read, filled and compared."""

from __future__ import annotations

import pytest
from transcripts import Command, TranscriptError, commands, difference, excerpt, filled, typed_in

OUTPUT = "\n".join(f"line {number}" for number in range(1, 8)) + "\n"


def test_a_command_is_what_stands_behind_the_prompt_and_the_lines_below_are_its_output() -> None:
    first, second = commands("$ one\nout\n\n  put\n$ two\n")
    assert (first.line, first.shown) == ("one", "out\n\n  put\n")
    assert (second.line, second.shown) == ("two", "")


def test_a_command_goes_on_while_a_quote_or_a_backslash_is_open() -> None:
    (command,) = commands("$ curl \\\n    -d '{\n  \"a\": 1}' \\\n    url   # it's a remark\nout\n")
    assert command.line == "curl     -d '{\n  \"a\": 1}'     url   # it's a remark"
    assert (command.program, command.shown) == ("curl", "out\n")


@pytest.mark.parametrize("body", ["out\n$ one\n", "$ one 'two\n"])
def test_a_block_that_cannot_be_read_is_named(body: str) -> None:
    with pytest.raises(TranscriptError, match=r"out|one"):
        commands(body)


def test_commands_come_in_the_order_of_the_page() -> None:
    blocks = "```console\n$ b\n`minisgl-tutor x`\n```\n```python\n`minisgl-tutor y`\n```\n"
    first, *others = typed_in(f"`minisgl-tutor a`\n{blocks}`minisgl-tutor c`")
    assert (first, others) == ("minisgl-tutor a", [Command("$ b", "`minisgl-tutor x`\n"), "minisgl-tutor c"])


@pytest.mark.parametrize(
    ("ranges", "shown"),
    [
        ("1,$", ["line 1", "line 2", "line 3", "line 4", "line 5", "line 6", "line 7"]),
        ("1", ["line 1", "..."]),
        ("$", ["...", "line 7"]),
        ("3,4 6", ["...", "line 3", "line 4", "...", "line 6", "..."]),
        ("/ 2$/,+1 /e 6/", ["...", "line 2", "line 3", "...", "line 6", "..."]),
        ("/ 5/,/ [67]/ 4,5", ["...", "line 4", "line 5", "line 6", "..."]),
        ("6,+5", ["...", "line 6", "line 7"]),
    ],
)
def test_lines_are_chosen_as_in_sed(ranges: str, shown: list[str]) -> None:
    assert excerpt(OUTPUT, ranges).splitlines() == shown


def test_a_step_is_chosen_with_what_is_indented_below_it() -> None:
    assert excerpt("#1\n  a\n   b\n#2\n  c\n#3\n", "/#1/,> /#3/,>") == "#1\n  a\n   b\n...\n#3\n"


@pytest.mark.parametrize("ranges", ["8", "0", "/line 8/", "two", "1,", "1,2,3", "/ 5/,/ 4/"])
def test_lines_that_are_not_there_are_named(ranges: str) -> None:
    with pytest.raises(TranscriptError, match="output: "):
        excerpt(OUTPUT, ranges)


def test_what_differs_each_time_is_left_out() -> None:
    line = f'date: now\n{{"id":"chatcmpl-{"0a" * 16}","created":1796009344}} server/sse.py:27 req_1'
    assert excerpt(line, "1,$") == 'date: ...\n{"id":"chatcmpl-...","created":...} server/sse.py:... req_1\n'


def test_an_excerpt_is_no_difference_and_another_line_is_one() -> None:
    assert difference(Command("$ x", excerpt(OUTPUT, "2 $")), OUTPUT) == ""
    assert difference(Command("$ x", "...\nline 3\n"), OUTPUT) != ""
    assert difference(Command("$ x", "line 1\n"), OUTPUT) != ""


def test_spaces_at_the_ends_of_lines_are_not_compared() -> None:
    assert difference(Command("$ x", "a\n\nb\n"), "a  \n \nb") == ""


def twice(command: Command) -> str:
    return f"1 {command.line}\n2 {command.line}\n"


def test_a_block_is_filled_command_by_command() -> None:
    block = "Text.\n\n<!-- output: 2; 1,$ -->\n```console\n{}```\nText.\n"
    new = filled(block.format("$ a\nold\n$ b # B\n"), twice)
    assert new == block.format("$ a\n...\n2 a\n$ b # B\n1 b # B\n2 b # B\n")
    assert filled(new, twice) == new


def test_ctrl_c_at_the_end_of_an_output_interrupts_its_command() -> None:
    first, second = commands("$ a\n^C\n$ b\nnot ^C here\n")
    assert (first.interrupted, second.interrupted) == (True, False)


def test_without_a_marker_all_is_shown() -> None:
    assert filled("```console\n$ a\n```\n", lambda command: OUTPUT) == f"```console\n$ a\n{OUTPUT}```\n"


def test_a_marker_has_a_part_for_each_command() -> None:
    with pytest.raises(TranscriptError, match="1 parts for 2 commands"):
        filled("<!-- output: 1 -->\n```console\n$ a\n$ b\n```\n", lambda command: OUTPUT)
