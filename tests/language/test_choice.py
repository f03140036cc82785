"""Which language is chosen."""

from __future__ import annotations

import pytest

from minisgl_tutor.language import Language, chosen


@pytest.mark.parametrize(
    ("environ", "setting", "language"),
    [
        ({}, None, "en"),
        ({"LANG": "zh_CN.UTF-8"}, None, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, None, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_MESSAGES": "de_DE.UTF-8"}, None, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "en", "en"),
        ({"LANG": "C"}, "zh", "zh"),
        ({"MINISGL_TUTOR_LANG": "en", "LANG": "zh_CN.UTF-8"}, "zh", "en"),
        ({"MINISGL_TUTOR_LANG": "ZH"}, "en", "zh"),
        ({"MINISGL_TUTOR_LANG": ""}, "zh", "zh"),
    ],
)
def test_the_variable_then_the_setting_then_the_locale(
    environ: dict[str, str], setting: Language | None, language: Language
) -> None:
    assert chosen(environ, setting) == language
