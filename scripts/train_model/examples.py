"""Conversations to train on, drawn from the corpus: questions as people type them, several turns."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

from topics import Corpus, Topic

Message = dict[str, str]
_CJK_LATIN_SPACE = re.compile(
    r"(?<=[\u4e00-\u9fff]) (?=[A-Za-z0-9_\[/-])|(?<=[A-Za-z0-9_\])-]) (?=[\u4e00-\u9fff])"
)
_END = re.compile(r"[?？.。!！ ]+$")


@dataclass(frozen=True)
class Example:
    """A conversation, or (``messages`` empty) a plain text to be continued.

    With ``opening`` the last answer is cut after its first tokens. Those decide
    which answer it is and are the hard part; the rest is soon learned by heart.
    """

    messages: tuple[Message, ...] = ()
    text: str = ""
    opening: bool = False


class Examples:
    """An endless, seeded stream of examples; every topic is equally likely, the unknown a little more."""

    def __init__(self, corpus: Corpus, seed: int) -> None:
        self._corpus = corpus
        self._random = random.Random(seed)
        self._elsewhere = [t for t in corpus.topics if t.key == "elsewhere"]
        self._known = [t for t in corpus.topics if t.key != "elsewhere"]

    def __iter__(self) -> Iterator[Example]:
        while True:
            yield self._draw()

    def conversation(self, turns: int, opening: bool = False) -> Example:
        messages = self._system() if self._random.random() < 0.2 else []
        last: Topic | None = None
        for _ in range(turns):
            last = self._turn(messages, last)
        return Example(tuple(messages), opening=opening)

    def _draw(self) -> Example:
        kind = self._random.random()
        if kind < 0.08:
            return Example(text=self._random.choice(self._known).answer)
        turns = 1 if kind < 0.83 else self._random.randint(2, 4)
        return self.conversation(turns, opening=self._random.random() < 0.7)

    def _turn(self, messages: list[Message], last: Topic | None) -> Topic:
        """Add a question and its answer; now and then, to say the last answer in the other language."""
        if last is not None and self._random.random() < 0.15:
            topic = self._corpus.translation(last)
            question = self._random.choice(self._corpus.patterns[topic.language]["translate"])
        else:
            topic = self._topic()
            question = self._vary(self._random.choice(topic.questions), topic)
        messages += [{"role": "user", "content": question}, {"role": "assistant", "content": topic.answer}]
        return topic

    def _topic(self) -> Topic:
        return self._random.choice(self._elsewhere if self._random.random() < 0.12 else self._known)

    def _system(self) -> list[Message]:
        prompt = self._random.choice(self._corpus.patterns["system"]["prompts"])
        return [{"role": "system", "content": prompt}]

    def _vary(self, question: str, topic: Topic) -> str:
        """The question as another person might type it."""
        chance, frame = self._random.random, self._corpus.patterns[topic.language]
        if topic.key == "elsewhere" and chance() < 0.15:
            question = self._made_up(frame["patterns"], topic.language)
        if chance() < 0.35:
            question = _END.sub("", question) + self._random.choice(frame["ends"])
        if chance() < 0.12:
            question = self._random.choice(frame["before"]) + question[0].lower() + question[1:]
        if chance() < 0.08:
            question += self._random.choice(frame["after"])
        if topic.language == "zh" and chance() < 0.4:
            question = _CJK_LATIN_SPACE.sub("", question)
        if chance() < 0.3:
            question = self._random.choice((str.lower, str.lower, str.upper, str.capitalize))(question)
        if chance() < 0.08 and len(question) > 12:
            at = self._random.randrange(1, len(question) - 1)
            question = question[:at] + question[at + 1 :]
        return question

    def _made_up(self, patterns: list[str], language: str) -> str:
        """A question about a word that does not exist."""
        pattern = self._random.choice([p for p in patterns if len(p) > 4])
        letters = "bcdfghjklmnprstvwz", "aeiou"
        if language == "zh":
            length = self._random.randint(2, 4)
            word = "".join(chr(self._random.randrange(0x4E00, 0x9FA0)) for _ in range(length))
        else:
            word = "".join(self._random.choice(letters[i % 2]) for i in range(self._random.randint(4, 9)))
        return pattern.replace("{}", word)
