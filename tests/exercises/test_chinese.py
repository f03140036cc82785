"""What a reader of Chinese is told of a file has nothing in English but what is data."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from minisgl_tutor.exercises.catalogue import Exercise, exercises, resolve
from minisgl_tutor.exercises.checker import Place, check
from minisgl_tutor.exercises.reader_file import ReaderFileError, load, load_classes
from minisgl_tutor.exercises.runner import STOPPED
from minisgl_tutor.exercises.sandbox import NO_THREAD
from minisgl_tutor.exercises.sentences import GENERAL
from minisgl_tutor.exercises.wire import Raised
from minisgl_tutor.language import Sentence, Tongue, counted, sentence_of
from minisgl_tutor.language.wire import Said
from tests.language.english import english_left

CHINESE = Tongue("zh")
WORDS = re.compile(r"[a-z]{2,}(?![^{]*})")


def chinese_of(sentence: Sentence) -> str:
    return CHINESE(Sentence(sentence.text))


@pytest.mark.parametrize("key", GENERAL)
def test_the_sentences_of_all_exercises(key: str) -> None:
    text = GENERAL[key].text
    assert not WORDS.search(text) or chinese_of(GENERAL[key]) != text


@pytest.mark.parametrize("kind", STOPPED)
def test_how_a_file_ends_a_check(kind: str) -> None:
    text = STOPPED[kind].text
    assert not WORDS.search(text) or chinese_of(STOPPED[kind]) != text


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("def (:\n", "mine.py 第 1 行：Python 无法解析：invalid syntax"),
        ("x = 1\n1 / 0\n", "mine.py 第 2 行：加载时抛出 ZeroDivisionError: division by zero"),
        ("raise SystemExit\n", "mine.py 第 1 行：加载时就结束了程序"),
        ("x = 1\n", "mine.py：里面没有以下任何一个类的子类：FrontendManager, "),
    ],
)
def test_a_file_that_cannot_be_used(content: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(content)
    with pytest.raises(ReaderFileError) as raised:
        load_classes(file)
    assert CHINESE(sentence_of(raised.value)).startswith(said)


@pytest.mark.parametrize("exercise", exercises(), ids=lambda each: each.key)
def test_a_file_without_what_is_asked_for(exercise: Exercise, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("")
    with pytest.raises(ReaderFileError) as raised:
        exercise.drill().find(load(file), file.name)
    assert english_left(CHINESE(sentence_of(raised.value))) == []


def test_a_sentence_crosses_whole() -> None:
    inner = counted("{count} page", "{count} pages", count=3)
    sentence = Sentence("{what} of {names}, {part:.1f}", what=inner, names=["a"], part=0.25)
    assert str(Said.of(sentence).sentence()) == str(sentence) == "3 pages of ['a'], 0.2"


def test_what_is_known_as_text_alone_is_said_in_chinese_too() -> None:
    told = Raised.told(f"NotAllowed: {NO_THREAD}\n  somewhere", 3)
    assert CHINESE(told.sentence()) == "NotAllowed: 评判时不允许启动线程"


MINE = "from minisgl_tutor.server.frontend import FrontendManager\nclass Mine(FrontendManager):\n"
HOSTILE = {
    "ends the process": "import os\nos._exit(0)\n",
    "starts another": "import os\nos.fork()\n",
    "uses a thread": MINE + "    async def end_user(self, uid):\n"
    "        import asyncio; await asyncio.to_thread(print)\n",
    "waits for ever": MINE + "    async def end_user(self, uid):\n"
    "        import asyncio; await asyncio.Event().wait()\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_that_is_up_to_something(name: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(HOSTILE[name])
    verdict = check(resolve("5.7"), file, 1, Place(tmp_path / ".failures"), CHINESE)
    assert verdict.failing
    assert english_left("\n".join(verdict.lines)) == []
