"""Recordings made by hand, over a tokenizer in which a byte is a token."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import decoders, models, pre_tokenizers

from minisgl_tutor.recording import (
    VERSION,
    ArriveLine,
    DisconnectLine,
    Header,
    Line,
    PaceLine,
    Recording,
    RequestLine,
    StepLine,
    SubmitLine,
    TokensLine,
)
from minisgl_tutor.tokenizer.load import load_eos_token_ids, load_tokenizer
from minisgl_tutor.tokenizer.tokenizer import Tokenizer

STEP_US = 10_000


@pytest.fixture(scope="session")
def byte_tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    folder = tmp_path_factory.mktemp("tokenizer")
    vocab = {letter: i for i, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    library = LibraryTokenizer(models.BPE(vocab=vocab, merges=[]))
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    library.add_special_tokens(["<|im_end|>"])
    library.save(str(folder / "tokenizer.json"))
    template = "{% for m in messages %}{{ m['role'] }}:{{ m['content'] }}\n{% endfor %}"
    config = {"eos_token": "<|im_end|>", "chat_template": template}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return load_tokenizer(Path(folder))


@dataclass
class Script:
    """Writes a recording: requests that run one after the other or side by side, a token every 10 ms."""

    tokenizer: Tokenizer
    backlog_limit: int = 16
    max_seq_len: int = 256
    overlap: bool = False
    lines: list[Line] = field(default_factory=list)
    answers: dict[int, list[int]] = field(default_factory=dict)
    prompts: dict[int, int] = field(default_factory=dict)
    starts: dict[int, int] = field(default_factory=dict)

    @property
    def eos(self) -> int:
        (eos,) = load_eos_token_ids(Path("."), self.tokenizer)
        return eos

    def request(
        self,
        at: int,
        answer: str,
        *,
        stream: bool = True,
        content: str = "hi",
        ends: bool = True,
        limit: int = 200,
    ) -> int:
        """A chat request at ``at`` us, answered from its own first step on, with or without an EOS."""
        rid = len(self.prompts)
        body = {
            "model": "toy",
            "messages": [{"role": "user", "content": content}],
            "stream": stream,
            "max_tokens": limit,
        }
        self.lines += [
            RequestLine(at, rid, "POST", "/v1/chat/completions", json.dumps(body)),
            SubmitLine(at, rid, rid, f"stamp{rid}", 1_700_000_000),
            ArriveLine(at + 40, [rid], []),
        ]
        self.prompts[rid] = len(self.tokenizer.encode(f"user:{content}\n"))
        self.answers[rid] = [*self.tokenizer.encode(answer), *([self.eos] if ends else [])]
        self.starts[rid] = at + 50
        return rid

    def leave(self, rid: int, at: int, chunks: int = 1000) -> None:
        self.lines.append(DisconnectLine(at, rid, chunks))

    def pace(self, rid: int, chunk_us: int, buffer: int = 1) -> None:
        self.lines.append(PaceLine(0, rid, chunk_us, buffer))

    def recording(self) -> Recording:
        """The recorded steps need not be those of the play: only tokens by request and index count."""
        steps: list[Line] = []
        n = 0
        for rid, tokens in self.answers.items():
            for i, token in enumerate(tokens):
                at = self.starts[rid] + i * STEP_US
                phase = "decode" if i else "prefill"
                steps.append(StepLine(at, n, phase, [rid], [self.prompts[rid] + i]))
                steps.append(TokensLine(at + STEP_US - 100, n, [token]))
                n += 1
        header = Header(
            version=VERSION,
            model=None,
            served_model="toy",
            page_size=16,
            num_pages=256,
            num_slots=8,
            max_seq_len=self.max_seq_len,
            vocab_size=257,
            prefill_budget=2048,
            cache="radix",
            overlap=self.overlap,
            num_tokenizer=1,
            backlog_limit=self.backlog_limit,
            eos_token_ids=[self.eos],
        )
        return Recording(header, sorted([*self.lines, *steps], key=lambda line: line.t))


@pytest.fixture
def script(byte_tokenizer: Tokenizer) -> Script:
    return Script(byte_tokenizer)
