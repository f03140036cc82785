"""A method that calls the server's own and hands on what it gives is nobody's; one line more is."""

from __future__ import annotations

from pathlib import Path

import pytest

from minisgl_tutor.exercises.own import has_own
from minisgl_tutor.exercises.reader_file import load
from minisgl_tutor.server.frontend import FrontendManager

HEAD = "from minisgl_tutor.server.frontend import FrontendManager\n"
ONLY = {
    "nothing": "x = 1",
    "a call": "def forget(self, uid): super().forget(uid)",
    "its result": "def new_user(self): return super().new_user()",
    "by the name of the base": "def forget(self, uid): return FrontendManager.forget(self, uid)",
    "by way of a name": "def new_user(self):\n        uid = super().new_user()\n        return uid",
    "with a docstring": 'def forget(self, uid):\n        """Mine."""\n        super(Mine, self).forget(uid)',
    "and None behind it": "def forget(self, uid):\n        super().forget(uid)\n        return None",
    "and None in place of its result": "def new_user(self):\n        super().new_user()\n        return None",
    "and None once it is awaited": "async def end_user(self, uid):\n"
    "        await super().end_user(uid)\n        return None",
    "by the name of an argument": "def forget(self, uid): super().forget(uid=uid)",
    "awaited": "async def end_user(self, uid): return await super().end_user(uid)",
    "any arguments": "async def submit(self, *args, **kwargs): return await super().submit(*args, **kwargs)",
    "item by item": "async def wait_for_ack(self, uid):\n"
    "        async for each in super().wait_for_ack(uid): yield each",
}
MORE = {
    "a condition": "def forget(self, uid):\n        if uid: super().forget(uid)",
    "another call": "def forget(self, uid):\n        super().forget(uid)\n        self.ack_map.clear()",
    "something kept": "def new_user(self):\n        self.last = super().new_user()\n        return self.last",
    "a part of the result": "def held(self): return super().held()[0], 1",
    "one by one": "def _tokenize(self, msgs):\n        for msg in msgs: a, b = super()._tokenize(msg)",
    "a method of another name": "async def end_user(self, uid): super().forget(uid)",
    "another result": "def expects(self, uid):\n        super().expects(uid)\n        return True",
    "another argument": "def forget(self, uid): super().forget(0)",
    "nothing done": "def forget(self, uid): pass",
    "in a class below": "def forget(self, uid): self.ack_map.clear()\n"
    "class Below(Mine):\n    def forget(self, uid): super().forget(uid)",
}


def has_some(body: str, folder: Path) -> bool:
    file = folder / "mine.py"
    file.write_text(f"{HEAD}class Mine(FrontendManager):\n    {body}\n")
    module = load(file)
    return has_own(getattr(module, "Below", module.Mine), FrontendManager)


@pytest.mark.parametrize("body", ONLY.values(), ids=list(ONLY))
def test_what_only_calls_the_servers_own(body: str, tmp_path: Path) -> None:
    assert not has_some(body, tmp_path)


@pytest.mark.parametrize("body", MORE.values(), ids=list(MORE))
def test_what_does_more(body: str, tmp_path: Path) -> None:
    assert has_some(body, tmp_path)
