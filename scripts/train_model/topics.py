"""The corpus: topics with one answer in each language, and the ways to ask for them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parent / "corpus"
LANGUAGES = ("en", "zh")
_FRAMES = ("patterns.toml", "elsewhere.toml")
_CJK = re.compile(r"[\u4e00-\u9fff]")


@dataclass(frozen=True)
class Topic:
    """One thing that the model knows. ``questions`` are trained on, ``held`` are kept for measuring."""

    key: str
    language: str
    questions: tuple[str, ...]
    held: tuple[str, ...]
    answer: str


@dataclass(frozen=True)
class Corpus:
    topics: tuple[Topic, ...]
    patterns: dict[str, Any]

    def translation(self, topic: Topic) -> Topic:
        """The same topic in the other language."""
        return next(t for t in self.topics if t.key == topic.key and t.language != topic.language)

    def texts(self) -> Iterator[str]:
        """What the tokenizer learns from: answers many times over, since questions are so many more."""
        for topic in self.topics:
            yield from (topic.answer,) * 30
            yield from topic.questions
            yield from (question.lower() for question in topic.questions)


def load_corpus() -> Corpus:
    """Read the corpus.

    Raises:
        ValueError: one question leads to two answers.
    """
    patterns = _read("patterns.toml")
    topics = [topic for entry in _entries() for topic in _both_languages(entry, patterns)]
    topics += [_elsewhere(language, patterns[language]) for language in LANGUAGES]
    check_unambiguous(topics)
    return Corpus(tuple(topics), patterns)


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((CORPUS / name).read_text(encoding="utf-8"))


def _entries() -> Iterator[dict[str, Any]]:
    for path in sorted(CORPUS.glob("*.toml")):
        if path.name not in _FRAMES:
            yield from _read(path.name)["topic"]


def _both_languages(entry: dict[str, Any], patterns: dict[str, Any]) -> Iterator[Topic]:
    for language in LANGUAGES:
        names = entry.get(f"names_{language}", [])
        yield Topic(
            key=entry["key"],
            language=language,
            questions=(
                *entry.get(f"ask_{language}", []),
                *_fill(patterns[language]["patterns"], names, language),
            ),
            held=(
                *entry.get(f"held_{language}", []),
                *_fill(patterns[language]["held_patterns"], names, language),
            ),
            answer=entry[language],
        )


def _elsewhere(language: str, patterns: dict[str, Any]) -> Topic:
    entry = _read("elsewhere.toml")[language]
    return Topic(
        key="elsewhere",
        language=language,
        questions=(*entry["ask"], *_fill(patterns["patterns"], entry["things"], language)),
        held=(*entry["held_ask"], *_fill(patterns["held_patterns"], entry["held_things"], language)),
        answer=entry["answer"],
    )


def _fill(patterns: list[str], names: list[str], language: str) -> Iterator[str]:
    for name in names:
        for pattern in patterns:
            # A bare Latin name does not tell that the question is Chinese.
            if language == "zh" and not _CJK.search(pattern + name):
                continue
            yield _insert(pattern, name)


def _insert(pattern: str, name: str) -> str:
    """Fill in a name, with a space wherever Chinese meets Latin."""
    before, after = pattern.split("{}")
    if before and _CJK.match(before[-1]) and name[0].isascii():
        before += " "
    if after and _CJK.match(after[0]) and name[-1].isascii():
        after = " " + after
    text = before + name + after
    return text[0].upper() + text[1:]


def check_unambiguous(topics: list[Topic]) -> None:
    seen: dict[str, Topic] = {}
    for topic in topics:
        for question in (*topic.questions, *topic.held):
            plain = re.sub(r"[\s?？.。!！]", "", question).lower()
            other = seen.setdefault(plain, topic)
            if other.answer != topic.answer:
                raise ValueError(f"{question!r} belongs to {other.key} and to {topic.key} ({topic.language})")
