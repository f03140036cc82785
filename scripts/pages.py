"""The pages that a reader reads, and the language of each."""

from __future__ import annotations

from pathlib import Path

from minisgl_tutor.language import Language
from minisgl_tutor.resources import chapters_dir

ROOT = Path(__file__).resolve().parent.parent


def of_chapters() -> list[Path]:
    """Every page of every chapter, in both languages."""
    return sorted(chapters_dir().glob("[0-9][0-9]-*/*.md"))


def of_exercises() -> list[Path]:
    """The page of every exercise, in both languages."""
    return sorted(chapters_dir().glob("[0-9][0-9]-*/exercises/*/*.md"))


def readmes() -> list[Path]:
    """The front page, in both languages."""
    return sorted(ROOT.glob("README*.md"))


def language_of(page: Path) -> Language:
    return "zh" if page.name.endswith(".zh.md") else "en"
