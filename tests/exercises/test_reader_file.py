"""A method that is a coroutine function where nobody waits for it would never run."""

from __future__ import annotations

from pathlib import Path

import pytest

from minisgl_tutor.exercises.drills.marks import MarksDrill
from minisgl_tutor.exercises.reader_file import ReaderFileError, load, the_class
from minisgl_tutor.server.frontend import FrontendManager

HEAD = "from minisgl_tutor.server.frontend import FrontendManager\nclass Mine(FrontendManager):\n"


def of(body: str, folder: Path) -> type:
    file = folder / "mine.py"
    file.write_text(HEAD + body)
    return the_class(load(file), FrontendManager, file.name)


def test_one_that_is_called_without_await_is_refused_with_its_line(tmp_path: Path) -> None:
    body = "    def new_user(self): return 1\n    async def file_reply(self, reply): self.last = reply\n"
    with pytest.raises(ReaderFileError, match=r"mine.py, line 4: file_reply is called without await"):
        of(body, tmp_path)


@pytest.mark.parametrize(
    "body",
    [
        "    async def end_user(self, uid): self.last = uid\n",
        "    async def helper(self): return 1\n",
        "    async def wait_for_ack(self, uid): yield self.last\n",
        "    async def unless_disconnected(self, request, work): return await work\n",
    ],
    ids=["awaited", "the reader's own", "a generator", "another awaited one"],
)
def test_any_other_may_be_one(body: str, tmp_path: Path) -> None:
    assert of(body, tmp_path).__name__ == "Mine"


def test_so_is_one_of_a_class_on_nothing_of_the_servers(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("class Front:\n    async def on_reply(self, mark, piece, finished): pass\n")
    with pytest.raises(ReaderFileError, match="line 2: on_reply is called without await"):
        MarksDrill().find(load(file), file.name)
