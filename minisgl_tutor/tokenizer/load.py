"""Finding and reading a model's tokenizer, its chat template and its end-of-sequence ids.

A ``tokenizer.json`` is read with the ``tokenizers`` library alone. Only a model
without one (older formats, a GGUF file) needs transformers, which is imported then.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from tokenizers import AddedToken
from tokenizers import Tokenizer as LibraryTokenizer

from ..language import Sentence
from ..panics import panics_as_errors
from .template import ChatTemplate
from .tokenizer import Tokenizer

__all__ = ["Tokenizer", "TokenizerNotFound", "load_eos_token_ids", "load_tokenizer"]

Clock = Callable[[], datetime]


class TokenizerNotFound(RuntimeError):
    """The model has no tokenizer that can be read; the message says what to do."""


def load_tokenizer(path: str | Path, now: Clock = datetime.now) -> Tokenizer:
    """The tokenizer of a model directory or GGUF file. ``now`` is the clock of its chat template.

    Raises:
        TokenizerNotFound: nothing is there, or it cannot be read.
    """
    path = Path(path)
    if not path.exists():
        raise TokenizerNotFound(
            Sentence("there is no model at {path}; give a model directory or a GGUF file", path=path)
        )
    if (path / "tokenizer.json").is_file():
        return _from_json(path, now)
    return _from_transformers(path, now)


def load_eos_token_ids(path: str | Path, tokenizer: Tokenizer) -> frozenset[int]:
    """Every id that ends an answer: those of the generation config, the model config and the tokenizer.

    Each may be missing and either config may have one id or a list. Models name
    the end of a turn in one place and the end of a text in another, so all count.
    """
    path = Path(path)
    ids = set(_ids(_read_json(path / "generation_config.json").get("eos_token_id")))
    ids.update(_ids(_model_config(path).get("eos_token_id")))
    ids.update(_ids(tokenizer.eos_token_id))
    return frozenset(token for token in ids if token in tokenizer)


def _ids(value: Any) -> list[int]:
    values = value if isinstance(value, list) else [value]
    return [token for token in values if isinstance(token, int) and not isinstance(token, bool)]


def _from_json(path: Path, now: Clock) -> Tokenizer:
    try:
        with panics_as_errors():
            library = LibraryTokenizer.from_file(str(path / "tokenizer.json"))
    except Exception as error:  # the library raises bare exceptions
        raise TokenizerNotFound(
            Sentence("{file} cannot be read: {reason}", file=path / "tokenizer.json", reason=str(error))
        ) from error
    config = _read_json(path / "tokenizer_config.json")
    if "added_tokens_decoder" not in config:  # the older layout keeps special tokens in a file of their own
        config |= _read_json(path / "special_tokens_map.json")
    special_tokens = _special_tokens(config)
    _complete(library, config, special_tokens)
    source = _template_source(path, config)
    template = None if source is None else ChatTemplate(source, special_tokens, now)
    return Tokenizer(library, template, special_tokens.get("eos_token"), _model_vocab_size(path))


def _from_transformers(path: Path, now: Clock) -> Tokenizer:
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise TokenizerNotFound(
            Sentence(
                "{path} has no tokenizer.json, and reading other formats needs transformers: "
                "`minisgl-tutor doctor` says how to install it, or give a directory with a tokenizer.json",
                path=path,
            )
        ) from error
    try:
        with panics_as_errors():
            if path.is_dir():
                loaded = AutoTokenizer.from_pretrained(path, local_files_only=True)
            else:
                loaded = AutoTokenizer.from_pretrained(
                    path.parent, gguf_file=path.name, local_files_only=True
                )
            library = loaded.backend_tokenizer
    except Exception as error:  # transformers raises whatever its many readers do
        reason = str(error).partition("\n")[0].rstrip(": ")
        raise TokenizerNotFound(
            Sentence(
                "{path} has no tokenizer.json, and transformers finds no other tokenizer in it: {reason}",
                path=path,
                reason=reason,
            )
        ) from error
    special_tokens = dict(loaded.special_tokens_map)
    source = _default_template(loaded.chat_template)
    template = None if source is None else ChatTemplate(source, special_tokens, now)
    return Tokenizer(library, template, special_tokens.get("eos_token"), _model_vocab_size(path))


def _complete(library: LibraryTokenizer, config: Mapping[str, Any], special_tokens: dict[str, str]) -> None:
    """The tokens that the tokenizer's config adds to ``tokenizer.json``, or makes special."""
    known = library.get_added_tokens_decoder()
    declared = {int(token): value for token, value in config.get("added_tokens_decoder", {}).items()}
    library.add_tokens([AddedToken(**declared[token]) for token in sorted(declared) if token not in known])
    extra = config.get("extra_special_tokens") or config.get("additional_special_tokens") or []
    wanted = [*special_tokens.values(), *(content for content in map(_content, extra) if content is not None)]
    special = {added.content for added in library.get_added_tokens_decoder().values() if added.special}
    library.add_special_tokens([token for token in wanted if token not in special])


def _special_tokens(config: Mapping[str, Any]) -> dict[str, str]:
    """The named special tokens of a config. Each is written as a string, or as a table with its content."""
    contents = {name: _content(value) for name, value in config.items() if name.endswith("_token")}
    return {name: content for name, content in contents.items() if content is not None}


def _content(token: Any) -> str | None:
    content = token.get("content") if isinstance(token, dict) else token
    return content if isinstance(content, str) else None


def _template_source(path: Path, config: Mapping[str, Any]) -> str | None:
    file = path / "chat_template.jinja"
    if file.is_file():
        return file.read_text(encoding="utf-8")
    return _default_template(config.get("chat_template"))


def _default_template(value: Any) -> str | None:
    """One template, or the default of several named ones."""
    if isinstance(value, list):
        value = {entry.get("name"): entry.get("template") for entry in value}
    if isinstance(value, dict):
        value = value.get("default")
    return value if isinstance(value, str) else None


def _model_vocab_size(path: Path) -> int:
    size = _model_config(path).get("vocab_size")
    return size if isinstance(size, int) else 0


def _model_config(path: Path) -> dict[str, Any]:
    """The model's config; a model of text and images keeps that of its text part in a part of its own."""
    config = _read_json(path / "config.json")
    return {**(config.get("text_config") or {}), **config}


def _read_json(path: Path) -> dict[str, Any]:
    """The table in a JSON file; empty when there is no such file.

    Raises:
        TokenizerNotFound: the file is not JSON.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except ValueError as error:
        raise TokenizerNotFound(
            Sentence("{path} is not JSON: {reason}", path=path, reason=str(error))
        ) from error
    return value if isinstance(value, dict) else {}
