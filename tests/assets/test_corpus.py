"""What the shipped model is trained on: the corpus is sound, and training sees the text that serving sees."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest
from tokenizers import Tokenizer as LibraryTokenizer

from minisgl_tutor.resources import model_dir
from minisgl_tutor.tokenizer.load import load_tokenizer

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts" / "train_model"


class Training(NamedTuple):
    topics: ModuleType
    examples: ModuleType
    batches: ModuleType


@pytest.fixture(scope="module")
def training() -> Iterator[Training]:
    """The modules of the training script, which lie outside of the package."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(SCRIPTS)
        before = set(sys.modules)
        import batches
        import examples
        import topics

        yield Training(topics, examples, batches)
        for name in set(sys.modules) - before:
            if (
                getattr(sys.modules[name], "__file__", None)
                and SCRIPTS in Path(sys.modules[name].__file__).parents
            ):
                del sys.modules[name]


def test_every_topic_is_answered_in_both_languages_and_no_question_has_two_answers(
    training: Training,
) -> None:
    corpus = training.topics.load_corpus()
    assert all(corpus.translation(topic).key == topic.key for topic in corpus.topics)
    assert all(
        topic.questions and topic.held and topic.answer.strip() == topic.answer for topic in corpus.topics
    )


def test_nothing_held_out_is_trained_on(training: Training) -> None:
    corpus = training.topics.load_corpus()
    trained = {question for topic in corpus.topics for question in topic.questions}
    assert not [question for topic in corpus.topics for question in topic.held if question in trained]


def test_a_question_with_two_answers_is_an_error(training: Training) -> None:
    topic = training.topics.Topic
    twice = [topic("a", "en", ("What?",), (), "this"), topic("b", "en", (), ("what",), "that")]
    with pytest.raises(ValueError, match="belongs to a and to b"):
        training.topics.check_unambiguous(twice)


def test_training_sees_the_tokens_that_a_conversation_has_when_it_is_served(training: Training) -> None:
    served = load_tokenizer(model_dir())
    library = LibraryTokenizer.from_file(str(model_dir() / "tokenizer.json"))
    drawn = islice(training.examples.Examples(training.topics.load_corpus(), seed=3), 200)
    talks = [example for example in drawn if example.messages and not example.opening]
    assert len(talks) > 20
    for example in talks:
        ids, learned = training.batches.encode(library, example)
        question = served.encode(served.apply_chat_template(example.messages[:-1]))
        answer = served.encode(example.messages[-1]["content"] + "<|im_end|>")
        assert ids == [*question, *answer, *served.encode("\n")]
        assert learned[len(question) :] == [True] * len(answer) + [False]


def test_the_same_seed_draws_the_same_conversations(training: Training) -> None:
    corpus = training.topics.load_corpus()
    first, again, other = (list(islice(training.examples.Examples(corpus, seed), 50)) for seed in (5, 5, 6))
    assert first == again != other
