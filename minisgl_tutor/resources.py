"""Where the files that come with the package are, in a checkout and in an installed wheel."""

from __future__ import annotations

from pathlib import Path

from .language import Sentence

PACKAGE_DIR = Path(__file__).resolve().parent


class IncompleteInstallation(FileNotFoundError):
    """Something that comes with the package is not there. Its ``Sentence`` names it and says what to do."""

    def __init__(self, missing: Path | Sentence) -> None:
        super().__init__(
            Sentence(
                "{missing} is missing from this installation; install minisgl-tutor again", missing=missing
            )
        )


def shipped(path: Path) -> Path:
    """A file or folder that comes with the package.

    Raises:
        IncompleteInstallation: it is not there.
    """
    if not path.exists():
        raise IncompleteInstallation(path)
    return path


def model_dir() -> Path:
    """The model that ships with the package."""
    return PACKAGE_DIR / "assets" / "model"


def chapters_dir() -> Path:
    """The chapters: beside the package in a checkout, inside it in a wheel.

    Raises:
        IncompleteInstallation: they are not there.
    """
    for candidate in (PACKAGE_DIR / "chapters", PACKAGE_DIR.parent / "chapters"):
        if candidate.is_dir():
            return candidate
    raise IncompleteInstallation(Sentence("the folder of the chapters"))
