"""The language that a reader has set to stay: a line in a small file among the user's settings."""

from __future__ import annotations

from pathlib import Path

import typer

from ..language import LANGUAGES, Language, Sentence, reason_of

NAME = "minisgl-tutor"


class SettingError(Exception):
    """The file cannot be read or written. Made with a ``Sentence``."""


def setting_file() -> Path:
    """Where it is kept, there or not."""
    return Path(typer.get_app_dir(NAME)) / "settings.toml"


def set_language() -> Language | None:
    """The language of the file; ``None`` if there is no file.

    Raises:
        SettingError: it cannot be read, or says something else.
    """
    file = setting_file()
    if not file.exists():
        return None
    import tomllib  # not for those who have set nothing: a first hop waits for each import

    try:
        said = tomllib.loads(file.read_text("utf-8")).get("language")
    except (OSError, ValueError):
        said = None
    for language in LANGUAGES:
        if said == language:
            return language
    raise SettingError(
        Sentence(
            "{file} does not say which language to speak; `minisgl-tutor language auto` takes it away",
            file=file,
        )
    )


def keep_language(language: Language | None) -> None:
    """Writes the file, or takes it away.

    Raises:
        SettingError: that cannot be done.
    """
    file = setting_file()
    try:
        if language is None:
            file.unlink(missing_ok=True)
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f'language = "{language}"\n', "utf-8")
    except OSError as error:
        raise SettingError(
            Sentence("{file} cannot be written: {reason}", file=file, reason=reason_of(error))
        ) from None
