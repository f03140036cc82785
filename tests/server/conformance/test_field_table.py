"""docs/openai-fields.md has a row for each field of the API, is right, and names a test that shows it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from openai.types import completion_create_params as text_params
from openai.types.chat import completion_create_params as chat_params

from minisgl_tutor.server.openai.fields import HARMLESS, NEUTRAL
from minisgl_tutor.server.openai.request_model import OpenAICompletionRequest, TextCompletionRequest

HERE = Path(__file__).parent
TABLE = HERE.parents[2] / "docs" / "openai-fields.md"
ROW = re.compile(r"\| `(\w+)` \| (.+) \| `(\w+\.py)::(\w+)` \|")

CHAT = set(get_type_hints(chat_params.CompletionCreateParamsNonStreaming))
TEXT = set(get_type_hints(text_params.CompletionCreateParamsNonStreaming))


def sections() -> dict[str, dict[str, tuple[str, str, str]]]:
    """By heading and field: what becomes of it, and the test."""
    found: dict[str, dict[str, tuple[str, str, str]]] = {}
    heading = ""
    for line in TABLE.read_text("utf-8").splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        if row := ROW.fullmatch(line):
            name, *rest = row.groups()
            assert name not in found.setdefault(heading, {}), f"{name} has two rows"
            found[heading][name] = (rest[0], rest[1], rest[2])
    return found


ROWS = sections()
ALL = [(name, *row) for rows in ROWS.values() for name, row in rows.items()]


def test_there_is_a_row_for_each_field_of_the_chat_api():
    assert set(ROWS["Chat completions"]) == CHAT


def test_there_is_a_row_for_each_field_of_the_text_api():
    assert set(ROWS["Text completions"]) | (CHAT & TEXT) == TEXT
    assert set(ROWS["Text completions"]) & CHAT == {"logprobs"}


def test_what_a_request_model_has_is_in_the_table_and_called_honoured():
    besides, chat, text = ROWS["Besides"], ROWS["Chat completions"], ROWS["Text completions"]
    assert set(besides) == set(OpenAICompletionRequest.model_fields) - CHAT - {"prompt"}
    assert set(besides) == set(TextCompletionRequest.model_fields) - TEXT
    done = {
        name
        for rows in (chat, text)
        for name, row in rows.items()
        if re.match("honoured|required|`inc", row[0])
    }
    assert done == (set(OpenAICompletionRequest.model_fields) | {"prompt"}) - set(besides)


def test_what_is_called_without_effect_or_refused_is():
    told = {name: row for name, row, *_ in ALL}
    assert {name for name, row in told.items() if row.startswith("accepted, without effect")} == HARMLESS
    refused = {name: row for name, row in told.items() if row.startswith("refused")}
    assert refused.keys() == NEUTRAL.keys()
    for name, row in refused.items():
        values = [json.loads(value) for value in re.findall(r"`([^`]+)`", row)]
        assert [*values, *([1] if row.endswith("for 1") else [])] == list(NEUTRAL[name])


@pytest.mark.parametrize(("file", "test"), sorted({(file, test) for _, _, file, test in ALL}))
def test_the_test_is_there(file: str, test: str):
    assert re.search(rf"^def {test}\(", (HERE / file).read_text("utf-8"), re.MULTILINE)


def bodies(name: str, value: Any) -> tuple[str, dict[str, Any]]:
    """The path that has the field, and a body with it."""
    return (
        ("chat/completions", {name: value})
        if name in CHAT
        else ("completions", {"prompt": "go", name: value})
    )


ANYTHING = ["x", True, 3, {"a": 1}, ["x"]]


def test_what_has_no_effect_is_accepted(serving):
    async def main(it):
        for name in sorted(HARMLESS):
            for value in ANYTHING:
                exchange = await it.answer(**{name: value}, max_tokens=1)
                assert exchange.status == 200, (name, value)
        assert all(params == it.params[0] for params in it.params)

    serving(main)


def test_what_is_not_done_is_refused_by_name(serving):
    async def main(it):
        for name, neutral in NEUTRAL.items():
            for value in (None, *neutral):
                path, body = bodies(name, value)
                assert (await it.answer(path, max_tokens=1, **body)).status == 200, (name, value)
            asked = len(it.params)
            for value in (value for value in ANYTHING if value not in neutral):
                path, body = bodies(name, value)
                exchange = await it.answer(path, **body)
                error = json.loads(exchange.body)["error"]
                assert (exchange.status, error["param"], error["code"]) == (
                    400,
                    name,
                    "unsupported_parameter",
                )
                assert f"'{name}'" in error["message"]
            assert len(it.params) == asked

    serving(main)


def test_what_nobody_knows_is_refused_unless_it_is_null(serving):
    async def main(it):
        assert (await it.answer(made_up=None, max_tokens=1)).status == 200
        exchange = await it.answer(made_up=0)
        error = json.loads(exchange.body)["error"]
        assert (exchange.status, error["param"], error["code"]) == (400, "made_up", "unknown_parameter")

    serving(main)
