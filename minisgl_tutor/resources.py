"""Where the files that come with the package are, in a checkout and in an installed wheel."""

from __future__ import annotations

from pathlib import Path

PACKAGE_DIR = Path(__file__).resolve().parent


def model_dir() -> Path:
    """The model that ships with the package."""
    return PACKAGE_DIR / "assets" / "model"


def chapters_dir() -> Path:
    """The chapters: beside the package in a checkout, inside it in a wheel.

    Raises:
        FileNotFoundError: the installation is incomplete.
    """
    for candidate in (PACKAGE_DIR / "chapters", PACKAGE_DIR.parent / "chapters"):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError("the chapters are missing from this installation; install minisgl-tutor again")
