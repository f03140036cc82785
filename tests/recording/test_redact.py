"""What may be given away: nothing of a text is left but its length."""

from __future__ import annotations

import json

import pytest

from minisgl_tutor.recording.redact import redacted_body, redacted_path, redacted_tokens, redacted_type


def test_texts_become_as_many_letters_and_numbers_stay() -> None:
    body = {
        "model": "secret",
        "messages": [
            {"role": "user", "content": "my secret"},
            {"role": "secret", "content": [{"type": "text", "text": "秘密"}], "name": "secret"},
        ],
        "stop": ["secret"],
        "max_tokens": 5,
        "temperature": 0.5,
        "stream": True,
        "prompt": [[101, 102], "secret"],
        "secret": {"secret": "secret"},
    }
    assert json.loads(redacted_body(json.dumps(body))) == {
        "model": "xxxxxx",
        "messages": [
            {"role": "user", "content": "xxxxxxxxx"},
            {"role": "xxxxxx", "content": [{"type": "text", "text": "xx"}]},
        ],
        "stop": ["xxxxxx"],
        "max_tokens": 5,
        "temperature": 0.5,
        "stream": True,
        "prompt": [[0, 0], "xxxxxx"],
    }


@pytest.mark.parametrize("body", ["", "not json at all", '["secret"]', "[" * 100_000, '{"a":' * 100_000])
def test_what_is_no_object_is_as_long_as_it_was(body: str) -> None:
    assert redacted_body(body) == "x" * len(body)


def test_a_path_is_shown_if_it_is_one_of_the_interface() -> None:
    assert redacted_path("/v1/completions") == "/v1/completions"
    assert redacted_path("/secret") == "/xxxxxx"


@pytest.mark.parametrize(
    ("content_type", "shown"),
    [
        ("application/json", "application/json"),
        ("Application/JSON; charset=secret", "application/json"),
        ("application/secret+json", "application/json"),
        ("", ""),
        ("secret", "xxxxxx"),
        ("text/json", "xxxxxxxxx"),
    ],
)
def test_of_a_content_type_is_shown_whether_it_is_json(content_type: str, shown: str) -> None:
    assert redacted_type(content_type) == shown


def test_of_tokens_only_the_end_of_an_answer_is_left() -> None:
    assert redacted_tokens([-1, 7, 0, 2, 9], eos=frozenset({0, 2})) == [-1, 1, 0, 2, 1]
