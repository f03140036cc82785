"""Which language is chosen."""

from __future__ import annotations

import pytest

from minisgl_tutor.language import Choice, Language, chosen


@pytest.mark.parametrize(
    ("environ", "setting", "language", "by"),
    [
        ({}, None, "en", ""),
        ({"LANG": "zh_CN.UTF-8"}, None, "zh", "LANG"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, None, "en", "LC_ALL"),
        ({"LANG": "zh_CN.UTF-8", "LC_MESSAGES": "de_DE.UTF-8"}, None, "en", "LC_MESSAGES"),
        ({"LANG": "zh_CN.UTF-8"}, "en", "en", "setting"),
        ({"LANG": "C"}, "zh", "zh", "setting"),
        ({"MINISGL_TUTOR_LANG": "en", "LANG": "zh_CN.UTF-8"}, "zh", "en", "MINISGL_TUTOR_LANG"),
        ({"MINISGL_TUTOR_LANG": "ZH"}, "en", "zh", "MINISGL_TUTOR_LANG"),
        ({"MINISGL_TUTOR_LANG": ""}, "zh", "zh", "setting"),
    ],
)
def test_the_variable_then_the_setting_then_the_locale(
    environ: dict[str, str], setting: Language | None, language: Language, by: str
) -> None:
    assert chosen(environ, setting) == Choice(language, by)
