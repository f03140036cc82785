"""The helper that finds English in Chinese output finds it, and nothing else."""

from __future__ import annotations

import pytest

from .english import english_left

PROSE = [
    "the abort leaves after the client did",
    "Error: port 1919 is taken by another server",
    "错误：nobody is waiting for this reply",
    "\x1b[1mTry it again with another\x1b[0m",
    "│ --port   INTEGER   Where the server listens to. │",
    "serve    运行服务    runs the server of this project",
    "it isn't there any more",
]

DATA = [
    "前端把 uid 3 的事件留在缓冲里",
    "错误：端口 1919 已被占用；用 --port 换一个",
    '{"note": "the client has gone away for good"}',
    "$ minisgl-tutor trace --chapter 5 and so on for ever",
    "minisgl-tutor trace --gap double-free plays it all again",
    ".venv/bin/minisgl-tutor trace it all again please",
    "运行 `the command that is here` 即可",
    '模型回答："I do not know that one"',
    "/usr/lib/python3/dist packages",
    "prompt、KV cache 与 Hugging Face OpenAI API 的用法",
    "ApiServer Tokenizer Scheduler",
    "--host --port --api-key --record",
    "```\nthis is code that is left as it is\n```",
    "    for uid in self.ack_map: del it",
]


@pytest.mark.parametrize("line", PROSE)
def test_prose_is_found(line: str) -> None:
    assert len(english_left(f"第一行\n{line}\n最后一行")) == 1


@pytest.mark.parametrize("line", DATA)
def test_data_is_not(line: str) -> None:
    assert english_left(line) == []
